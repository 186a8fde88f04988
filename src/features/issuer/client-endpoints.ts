import type { Endpoint } from '../../api/endpoint.js';
import { type KnownScopes, managedEndpoints, type Store } from '../../api/managed-endpoints.js';
import type { Db } from '../../db/db.js';
import { readClientInput } from './client-input.js';
import { CLIENT } from './client-kind.js';
import { CLIENT_TABLE, type ClientFields, createClient, type StoredClient } from './clients.js';

/** The services that endpoints of clients run with. */
export interface ClientServices extends KnownScopes {
  readonly db: Db;
}

/** Clients of the embedded authorization server. */
export const STORED_CLIENTS: Store<StoredClient, ClientFields, KnownScopes, Pick<ClientServices, 'db'>> = {
  ...CLIENT_TABLE,
  idOf: (text) => text,
  read: ({ scopes }, body, before) => readClientInput(body, scopes, before),
  create: createClient,
  shown: ({ version: _, ...shown }) => shown,
};

export const CLIENTS: readonly Endpoint<ClientServices>[] = managedEndpoints(CLIENT, STORED_CLIENTS);
