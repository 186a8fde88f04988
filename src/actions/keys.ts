import {
  type Credential,
  createCredential,
  getCredential,
  listCredentials,
  PAGE,
  revokeCredential,
} from '../auth/credentials.js';
import { readGrant } from '../auth/grant.js';
import type { Lookup } from '../auth/lookup.js';
import type { Db } from '../db/connect.js';
import { absent, badRequest } from '../errors.js';
import type { Reply } from '../http/reply.js';
import { JSON_TYPE } from '../http/representation.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { parseUuid } from '../uuid.js';

/** Credentials are not for caches, and a new key is shown to nobody else. */
const HEADERS = ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'];

/** The keys and certificates that are registered, the newest first; those after `?after=<id>`: 200, 400. */
export function listKeys(db: Db): Action {
  return alone({
    offers: [JSON_TYPE],
    run: async ({ query }) => {
      const after = new URLSearchParams(query).get('after');
      const id = parseUuid(after ?? '');
      if (after !== null && id === undefined) throw badRequest('`after` takes the id of a key.');
      const found = await listCredentials(db, id);
      const page = found.slice(0, PAGE);
      const next = found.length > PAGE ? `/keys?after=${page.at(-1)!.id}` : null;
      return reply(200, { data: page.map(shown), links: { next } });
    },
  });
}

/** A new key, shown this once, or a certificate: 201, 400, 409. */
export function createKey(db: Db): Action {
  return alone({
    takes: [JSON_TYPE],
    run: async ({ body }) => {
      const { grant, key } = readGrant(body?.value);
      const credential = await createCredential(db, grant);
      const { status, headers, body: text } = reply(201, { ...shown(credential), key });
      return { status, headers: [...headers, 'Location', `/keys/${credential.id}`], body: text! };
    },
  });
}

/** One of them: 200, 404. */
export function getKey(db: Db): Action {
  return alone({
    offers: [JSON_TYPE],
    run: async ({ params }) => {
      const id = parseUuid(params.id ?? '');
      const credential = id === undefined ? undefined : await getCredential(db, id);
      if (!credential) throw absent('key', 'simple');
      return reply(200, shown(credential));
    },
  });
}

/** Takes one back; it is refused from now on here, and elsewhere as soon as that is heard: 204, also when there was none. */
export function revokeKey(db: Db, lookup: Lookup): Action {
  return alone({
    run: async ({ params }) => {
      const id = parseUuid(params.id ?? '');
      const hash = id === undefined ? undefined : await revokeCredential(db, id);
      if (hash !== undefined) lookup.forget(hash);
      return { status: 204, headers: [] };
    },
  });
}

/** Not part of a batch: its answers are kept for a repeat, and a key must not be; nor does it roll back. */
function alone(action: Action): Action {
  return {
    ...action,
    run: (request: Request) => {
      if (request.run) throw badRequest('A batch cannot manage keys.');
      return action.run(request);
    },
  };
}

function reply(status: number, value: unknown): Reply {
  return { status, headers: HEADERS, body: JSON.stringify(value) };
}

/** A credential as it is shown: of a key nothing that helps to find it, of a certificate its thumbprint (RFC 8705). */
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

function timeOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
