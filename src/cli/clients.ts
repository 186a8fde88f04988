import { knownScopes } from '../auth/known-scopes.js';
import { readConfig } from '../config/config.js';
import { loadDeclarations, resourcesOf } from '../declarations/load-declarations.js';
import { ExitError } from '../exit-error.js';
import { readClientInput } from '../issuer/client-input.js';
import { fieldsOf } from '../issuer/client-routes.js';
import { createClient, deleteClient, listClients, PAGE } from '../issuer/clients.js';
import type { Json } from '../json.js';
import { parse, UsageError } from './exit.js';
import { USAGE } from './usage.js';
import { withDatabase } from './with-database.js';

/** Creates, lists and deletes clients of the embedded authorization server. Throws UsageError and ExitError. */
export async function clientsCommand([verb, ...args]: string[]): Promise<void> {
  if (verb === 'create') return create(args);
  if (verb === 'list' && args.length === 0) return list();
  if (verb === 'delete' && args.length === 1) return remove(args[0]!);
  throw new UsageError('clients needs a subcommand: create, list or delete ID', USAGE.clients);
}

async function create(args: string[]): Promise<void> {
  const string = { type: 'string' } as const;
  const many = { type: 'string', multiple: true } as const;
  const flag = { type: 'boolean', default: false } as const;
  const options = {
    name: string,
    grant: many,
    redirect: many,
    scopes: string,
    confidential: flag,
    opaque: flag,
  };
  const { values } = parse({ args, options }, USAGE.clients);
  const redirects = values.redirect ?? [];
  const body: Json = {
    name: values.name ?? '',
    type: values.confidential ? 'confidential' : 'public',
    grant_types:
      values.grant ??
      (redirects.length > 0 ? ['authorization_code', 'refresh_token'] : ['client_credentials']),
    redirect_uris: redirects,
    scopes: values.scopes?.split(',') ?? ['openid', 'self'],
    token_format: values.opaque ? 'opaque' : 'jwt',
  };
  const config = readConfig();
  const known = knownScopes(resourcesOf(await loadDeclarations(config)));
  await withDatabase(async ({ db }) => {
    const { client, secret } = await createClient(db, readClientInput(body, known));
    process.stdout.write(`id:      ${client.id}\n${secret === undefined ? '' : `secret:  ${secret}\n`}`);
  }, config);
}

/** Prints one JSON object a line. */
function list(): Promise<void> {
  return withDatabase(async ({ db }) => {
    let after: string | undefined;
    do {
      const found = await listClients(db, after);
      const page = found.slice(0, PAGE);
      for (const client of page) process.stdout.write(`${JSON.stringify(fieldsOf(client))}\n`);
      after = found.length > PAGE ? page.at(-1)!.id : undefined;
    } while (after !== undefined);
  });
}

function remove(id: string): Promise<void> {
  return withDatabase(async ({ db }) => {
    if (!(await deleteClient(db, id))) throw new ExitError(`there is no client ${id}`);
  });
}
