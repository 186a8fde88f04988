import {
  type ManagedView,
  managedList,
  managedReply,
  requireMatch,
} from '../../actions/admin/admin-replies.js';
import { whileSignedIn } from '../../actions/admin/signed-in.js';
import { notInBatch, timeOf } from '../../actions/secret-reply.js';
import { JSON_TYPE } from '../../collection/representation.js';
import type { Db } from '../../db/db.js';
import { absent } from '../../errors/record-errors.js';
import { badRequest } from '../../errors/request-errors.js';
import { type Action, type Route, requiring } from '../../http/router.js';
import type { ScopeRequirement } from '../../principal.js';
import { parseUuid } from '../../uuid.js';
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

/** Clients of the embedded authorization server; `scopes` are those of the API. */
export function clientRoutes(db: Db, scopes: readonly string[]): Route[] {
  const needs: ScopeRequirement = { scopes: ['admin'] };
  const admin = (action: Action) => requiring(needs, notInBatch('clients', action));
  return [
    {
      path: '/oauth-clients',
      actions: { GET: admin(listOfClients(db)), POST: admin(newClient(db, scopes)) },
    },
    {
      path: '/oauth-clients/:id',
      actions: {
        GET: admin(oneClient(db)),
        PUT: admin(changedClient(db, scopes, [JSON_TYPE], true)),
        PATCH: admin(changedClient(db, scopes, [JSON_TYPE, 'application/merge-patch+json'], false)),
        DELETE: admin(removeClient(db)),
      },
    },
  ];
}

/** Lists clients after `?after=<id>`: 200, 304, 400. */
function listOfClients(db: Db): Action {
  return {
    offers: [JSON_TYPE],
    parameters: ['after'],
    run: async (request) => {
      const after = new URLSearchParams(request.query).get('after') ?? undefined;
      if (after !== undefined && parseUuid(after) === undefined)
        throw badRequest('`after` must be the id of a client.');
      const found = await listClients(db, after);
      const page = found.slice(0, PAGE);
      const next = found.length > PAGE ? `/oauth-clients?after=${page.at(-1)!.id}` : null;
      return managedList(request, page.map(shown), PAGE, next);
    },
  };
}

/** Creates a client. The secret of a confidential one is shown once: 201, 400. */
function newClient(db: Db, scopes: readonly string[]): Action {
  return {
    accepts: [JSON_TYPE],
    run: async (request) => {
      const input = readClientInput(request.body?.value, scopes);
      const { client, secret } = await whileSignedIn(db, request.principal, (db) => createClient(db, input));
      return managedReply(request, shown(client), {
        status: 201,
        secrets: secret === undefined ? {} : { secret },
      });
    },
  };
}

/** Shows a client: 200, 304, 404. */
function oneClient(db: Db): Action {
  return {
    offers: [JSON_TYPE],
    run: async (request) => {
      const client = await getClient(db, request.params.id ?? '');
      if (!client) throw absent('client', 'simple');
      return managedReply(request, shown(client));
    },
  };
}

/**
 * Replaces all fields, where missing ones get their defaults (`whole`), or changes those of a merge patch (RFC 7396): 200,
 * 400, 404.
 */
function changedClient(
  db: Db,
  scopes: readonly string[],
  accepts: readonly string[],
  whole: boolean,
): Action {
  return {
    accepts,
    run: async (request) => {
      const changed = await changeClient(db, request.params.id ?? '', (before) => {
        requireMatch(request, shown(before));
        return readClientInput(changedInput(request.body?.value, before, whole), scopes, before);
      });
      if (!changed) throw absent('client', 'simple');
      return managedReply(request, shown(changed));
    },
  };
}

/** Deletes a client with its tokens: 204, also if it does not exist. */
function removeClient(db: Db): Action {
  return {
    run: async (request) => {
      const id = request.params.id ?? '';
      const current = await getClient(db, id);
      requireMatch(request, current && shown(current));
      await deleteClient(db, id);
      return { status: 204, headers: [] };
    },
  };
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
