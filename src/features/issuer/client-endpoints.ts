import { timeOf } from '../../actions/secret-reply.js';
import type { Endpoint } from '../../api/endpoint.js';
import { type KnownScopes, managedEndpoints, type Store } from '../../api/managed-endpoints.js';
import type { Db } from '../../db/db.js';
import { readClientInput } from './client-input.js';
import { CLIENT } from './client-kind.js';
import {
  type ClientFields,
  changeClient,
  createClient,
  deleteClient,
  getClient,
  listClients,
  type StoredClient,
} from './clients.js';

/** The services that endpoints of clients run with. */
export interface ClientServices extends KnownScopes {
  readonly db: Db;
}

/** Clients of the embedded authorization server. A deletion ends their tokens. */
export const STORED_CLIENTS: Store<StoredClient, ClientFields, KnownScopes, Pick<ClientServices, 'db'>> = {
  idOf: (text) => text,
  read: ({ scopes }, body, before) => readClientInput(body, scopes, before),
  create: createClient,
  list: listClients,
  get: getClient,
  change: changeClient,
  remove: async ({ db }, id, permit) => {
    permit(await getClient(db, id));
    return deleteClient(db, id);
  },
  shown,
};

export const CLIENTS: readonly Endpoint<ClientServices>[] = managedEndpoints(CLIENT, STORED_CLIENTS);

/** A client as operators see it. */
function shown(client: StoredClient): Record<string, unknown> {
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
