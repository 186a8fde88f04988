import { knownScopes } from '../auth/known-scopes.js';
import { readConfig } from '../config/config.js';
import { loadDeclarations, resourcesOf } from '../declarations/load-declarations.js';
import { ExitError } from '../exit-error.js';
import { readClientInput } from '../issuer/client-input.js';
import { fieldsOf } from '../issuer/client-routes.js';
import { createClient, deleteClient, listClients, PAGE } from '../issuer/clients.js';
import type { Json } from '../json.js';
import { parse, subcommandOf } from './arguments.js';
import { UsageError } from './exit.js';
import { ListOutput, print } from './output.js';
import { withDatabase } from './with-database.js';

/** Creates, lists and deletes clients of the embedded authorization server. Throws UsageError and ExitError. */
export async function clientsCommand(args: string[]): Promise<void> {
  const { verb, rest } = subcommandOf('clients', args);
  if (verb === 'create') return create(rest);
  return verb === 'list' ? list(rest) : remove(rest);
}

async function create(args: string[]): Promise<void> {
  const { values } = parse('clients', 'create', args);
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
    const { id } = client;
    const text = secret === undefined ? '' : `secret:  ${secret}\n`;
    print(values.json, { id, ...(secret === undefined ? {} : { secret }) }, `id:      ${id}\n${text}`);
  }, config);
}

function list(args: string[]): Promise<void> {
  const { values } = parse('clients', 'list', args);
  const output = new ListOutput(values.json);
  return withDatabase(async ({ db }) => {
    let after: string | undefined;
    do {
      const found = await listClients(db, after);
      const page = found.slice(0, PAGE);
      for (const client of page) output.add(fieldsOf(client));
      after = found.length > PAGE ? page.at(-1)!.id : undefined;
    } while (after !== undefined);
    output.end();
  });
}

async function remove(args: string[]): Promise<void> {
  const { values, positionals } = parse('clients', 'delete', args);
  const [id, ...rest] = positionals;
  if (id === undefined || rest.length > 0)
    throw new UsageError('clients delete needs the id of a client', 'clients');
  await withDatabase(async ({ db }) => {
    if (!(await deleteClient(db, id))) throw new ExitError(`there is no client ${id}`);
    print(values.json, { id }, '');
  });
}
