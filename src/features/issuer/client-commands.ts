import { knownScopes } from '../../auth/known-scopes.js';
import { parse, subcommandOf } from '../../cli/arguments.js';
import { UsageError } from '../../cli/exit.js';
import { configOf, type Io } from '../../cli/io.js';
import { ListOutput, print } from '../../cli/output.js';
import { withDatabase } from '../../cli/with-database.js';
import { loadDeclarations, resourcesOf } from '../../declarations/load-declarations.js';
import { ExitError } from '../../exit-error.js';
import type { Json, JsonObject } from '../../json.js';
import { fieldsOf } from './client-endpoints.js';
import { changedInput, readClientInput } from './client-input.js';
import { changeClient, createClient, deleteClient, listClients, PAGE } from './clients.js';
import { COMMANDS } from './commands.js';

/** Creates, changes, lists and deletes clients of the embedded authorization server. Throws UsageError and ExitError. */
export async function clientsCommand(args: string[], io: Io): Promise<void> {
  const { verb, rest } = subcommandOf(COMMANDS, 'clients', args);
  if (verb === 'create') return create(rest, io);
  if (verb === 'update') return update(rest, io);
  return verb === 'list' ? list(rest, io) : remove(rest, io);
}

async function create(args: string[], io: Io): Promise<void> {
  const { values } = parse(COMMANDS, 'clients', 'create', args);
  const redirects = values.redirect ?? [];
  const body: Json = {
    name: values.name ?? '',
    type: values.confidential ? 'confidential' : 'public',
    grant_types:
      values.grant ??
      (redirects.length > 0 ? ['authorization_code', 'refresh_token'] : ['client_credentials']),
    redirect_uris: redirects,
    post_logout_redirect_uris: values['post-logout'] ?? [],
    scopes: values.scopes?.split(',') ?? ['openid', 'self'],
    token_format: values.opaque ? 'opaque' : 'jwt',
    id_token_signed_response_alg: values['id-token-alg'] ?? 'ES256',
  };
  const config = configOf(io);
  const known = knownScopes(resourcesOf(await loadDeclarations(config)));
  await withDatabase(
    io,
    async ({ db }) => {
      const { client, secret } = await createClient(db, readClientInput(body, known));
      const { id } = client;
      const text = secret === undefined ? '' : `secret:  ${secret}\n`;
      print(io, values.json, { id, ...(secret === undefined ? {} : { secret }) }, `id:      ${id}\n${text}`);
    },
    config,
  );
}

async function update(args: string[], io: Io): Promise<void> {
  const { values, positionals } = parse(COMMANDS, 'clients', 'update', args);
  const id = idOf('update', positionals);
  const patch = Object.fromEntries(
    Object.entries({
      name: values.name,
      grant_types: given(values.grant),
      redirect_uris: given(values.redirect),
      post_logout_redirect_uris: given(values['post-logout']),
      scopes: given(values.scopes?.split(',')),
      token_format: values['token-format'],
      id_token_signed_response_alg: values['id-token-alg'],
    }).filter(([, value]) => value !== undefined),
  ) as JsonObject;
  if (Object.keys(patch).length === 0)
    throw new UsageError('clients update needs an option that says what changes', 'clients');
  const config = configOf(io);
  const known = knownScopes(resourcesOf(await loadDeclarations(config)));
  await withDatabase(
    io,
    async ({ db }) => {
      const changed = await changeClient(db, id, (before) =>
        readClientInput(changedInput(patch, before, false), known, before),
      );
      if (!changed) throw new ExitError(`there is no client ${id}`);
      print(io, values.json, fieldsOf(changed), '');
    },
    config,
  );
}

/** The values of an option; none if it is empty. */
const given = (values: readonly string[] | undefined): string[] | undefined =>
  values?.filter((value) => value !== '');

/** The only operand. */
function idOf(verb: string, [id, ...rest]: readonly string[]): string {
  if (id === undefined || rest.length > 0)
    throw new UsageError(`clients ${verb} needs the id of a client`, 'clients');
  return id;
}

function list(args: string[], io: Io): Promise<void> {
  const { values } = parse(COMMANDS, 'clients', 'list', args);
  const output = new ListOutput(io, values.json);
  return withDatabase(io, async ({ db }) => {
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

async function remove(args: string[], io: Io): Promise<void> {
  const { values, positionals } = parse(COMMANDS, 'clients', 'delete', args);
  const id = idOf('delete', positionals);
  await withDatabase(io, async ({ db }) => {
    if (!(await deleteClient(db, id))) throw new ExitError(`there is no client ${id}`);
    print(io, values.json, { id }, '');
  });
}
