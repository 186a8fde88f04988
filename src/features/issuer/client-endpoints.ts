import {
  type ManagedView,
  managedPage,
  managedReply,
  requireMatch,
} from '../../actions/admin/admin-replies.js';
import { whileSignedIn } from '../../actions/admin/signed-in.js';
import { timeOf } from '../../actions/secret-reply.js';
import type { Endpoint } from '../../api/endpoint.js';
import { describeManaged } from '../../api/managed.js';
import type { Db } from '../../db/db.js';
import { absent } from '../../errors/record-errors.js';
import type { Reply } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import { changedInput, readClientInput } from './client-input.js';
import {
  changeClient,
  createClient,
  deleteClient,
  getClient,
  listClients,
  PAGE,
  type StoredClient,
} from './clients.js';

/** The services that endpoints of clients run with. `scopes` are those that clients may have. */
export interface ClientServices {
  readonly db: Db;
  readonly scopes: readonly string[];
}

const CLIENT = describeManaged({
  path: '/oauth-clients',
  type: 'Client',
  one: 'a client of the authorization server',
  many: 'clients',
  order: 'by id',
  limit: PAGE,
});

/** Clients of the embedded authorization server. */
export const CLIENTS: readonly Endpoint<ClientServices>[] = [
  { ...CLIENT.list, homeLink: { name: 'applications', position: 10 }, run: listOfClients },
  { ...CLIENT.create, run: newClient },
  { ...CLIENT.get, run: oneClient },
  { ...CLIENT.replace, run: (services, request) => changedClient(services, request, true) },
  { ...CLIENT.change, run: (services, request) => changedClient(services, request, false) },
  { ...CLIENT.remove, run: removeClient },
];

/** Lists clients after `?after=<id>`: 200, 304, 400. */
function listOfClients({ db }: ClientServices, request: Request): Promise<Reply> {
  const page = { path: '/oauth-clients', limit: PAGE, invalid: '`after` must be the id of a client.' };
  return managedPage(request, page, (after) => listClients(db, after), shown);
}

/** Creates a client. The secret of a confidential one is shown once: 201, 400. */
async function newClient({ db, scopes }: ClientServices, request: Request): Promise<Reply> {
  const input = readClientInput(request.body?.value, scopes);
  const { client, secret } = await whileSignedIn(db, request.principal, (db) => createClient(db, input));
  return managedReply(request, shown(client), {
    status: 201,
    secrets: secret === undefined ? {} : { secret },
  });
}

/** Shows a client: 200, 304, 404. */
async function oneClient({ db }: ClientServices, request: Request): Promise<Reply> {
  const client = await getClient(db, request.params.id ?? '');
  if (!client) throw absent('client', 'simple');
  return managedReply(request, shown(client));
}

/**
 * Replaces all fields, where missing ones get their defaults (`whole`), or changes those of a merge patch (RFC 7396): 200,
 * 400, 404.
 */
async function changedClient(
  { db, scopes }: ClientServices,
  request: Request,
  whole: boolean,
): Promise<Reply> {
  const changed = await changeClient(db, request.params.id ?? '', (before) => {
    requireMatch(request, shown(before));
    return readClientInput(changedInput(request.body?.value, before, whole), scopes, before);
  });
  if (!changed) throw absent('client', 'simple');
  return managedReply(request, shown(changed));
}

/** Deletes a client with its tokens: 204, also if it does not exist. */
async function removeClient({ db }: ClientServices, request: Request): Promise<Reply> {
  const id = request.params.id ?? '';
  const current = await getClient(db, id);
  requireMatch(request, current && shown(current));
  await deleteClient(db, id);
  return { status: 204, headers: [] };
}

function shown(client: StoredClient): ManagedView {
  return { path: `/oauth-clients/${client.id}`, version: client.version, fields: fieldsOf(client) };
}

/** A client as operators see it. */
export function fieldsOf(client: StoredClient): Record<string, unknown> {
  const { id, name, confidential, grantTypes, redirectUris, scopes, tokenFormat, created } = client;
  return {
    id,
    name,
    type: confidential ? 'confidential' : 'public',
    grant_types: grantTypes,
    redirect_uris: redirectUris,
    post_logout_redirect_uris: client.postLogoutRedirectUris,
    scopes,
    token_format: tokenFormat,
    id_token_signed_response_alg: client.idTokenAlgorithm,
    created_at: timeOf(created),
  };
}
