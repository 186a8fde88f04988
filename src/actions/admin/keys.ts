import type { CredentialCache } from '../../auth/credentials/credential-cache.js';
import { readCredentialInput } from '../../auth/credentials/credential-input.js';
import {
  type Credential,
  createCredential,
  getCredential,
  listCredentials,
  PAGE,
  revokeCredential,
} from '../../auth/credentials/credentials.js';
import { JSON_TYPE } from '../../collection/representation.js';
import type { Db } from '../../db/db.js';
import { absent } from '../../errors/record-errors.js';
import { badRequest, noKeysAccepted } from '../../errors/request-errors.js';
import type { Action } from '../../http/router.js';
import { parseUuid } from '../../uuid.js';
import { notInBatch, timeOf } from '../secret-reply.js';
import { type ManagedView, managedList, managedReply, requireMatch } from './admin-replies.js';
import { whileSignedIn } from './signed-in.js';

/** Lists registered keys and certificates, newest first, after `?after=<id>`: 200, 400. */
export function listKeys(db: Db): Action {
  return notInBatch('keys', {
    offers: [JSON_TYPE],
    parameters: ['after'],
    run: async (request) => {
      const after = new URLSearchParams(request.query).get('after');
      const id = parseUuid(after ?? '');
      if (after !== null && id === undefined) throw badRequest('`after` must be the id of a key.');
      const found = await listCredentials(db, id);
      const page = found.slice(0, PAGE);
      const next = found.length > PAGE ? `/keys?after=${page.at(-1)!.id}` : null;
      return managedList(request, page.map(managed), PAGE, next);
    },
  });
}

/** Creates a key, which is shown once, or registers a certificate: 201, 400, 409. */
export function createKey(db: Db, scopes: readonly string[]): Action {
  return notInBatch('keys', {
    accepts: [JSON_TYPE],
    run: async (request) => {
      const { input, key } = readCredentialInput(request.body?.value, scopes);
      const credential = await whileSignedIn(db, request.principal, (db) => createCredential(db, input));
      return managedReply(request, managed(credential), { status: 201, secrets: { key } });
    },
  });
}

/** Explains why there is nothing to manage: 404. */
export const noKeys: Action = {
  run: () => {
    throw noKeysAccepted();
  },
};

/** Shows a key or certificate: 200, 404. */
export function getKey(db: Db): Action {
  return notInBatch('keys', {
    offers: [JSON_TYPE],
    run: async (request) => {
      const id = parseUuid(request.params.id ?? '');
      const credential = id === undefined ? undefined : await getCredential(db, id);
      if (!credential) throw absent('key', 'simple');
      return managedReply(request, managed(credential));
    },
  });
}

/** Revokes a key or certificate: 204, also if it does not exist. Other processes are notified. */
export function revokeKey(db: Db, lookup: CredentialCache): Action {
  return notInBatch('keys', {
    run: async (request) => {
      const id = parseUuid(request.params.id ?? '');
      const current = id === undefined ? undefined : await getCredential(db, id);
      requireMatch(request, current && managed(current));
      const hash = id === undefined ? undefined : await revokeCredential(db, id);
      if (hash !== undefined) lookup.forget(hash);
      return { status: 204, headers: [] };
    },
  });
}

/** A credential never changes, so that its version is always 1. */
function managed(credential: Credential): ManagedView {
  return { path: `/keys/${credential.id}`, version: 1, fields: shown(credential) };
}

/** A credential without the hash of a key; a certificate has its thumbprint (RFC 8705). */
export function shown(credential: Credential): Record<string, unknown> {
  const { id, kind, hash, label, subject, scopes, created, expires, used } = credential;
  return {
    id,
    kind,
    label,
    subject,
    scopes,
    created_at: timeOf(created),
    expires_at: timeOf(expires),
    last_used_at: timeOf(used),
    ...(kind === 'certificate' ? { thumbprint: Buffer.from(hash, 'base64').toString('base64url') } : {}),
  };
}
