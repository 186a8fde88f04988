import { type ManagedView, managedPage, managedReply, requireMatch } from '../actions/admin/admin-replies.js';
import { whileSignedIn } from '../actions/admin/signed-in.js';
import { timeOf } from '../actions/secret-reply.js';
import type { CredentialCache } from '../auth/credentials/credential-cache.js';
import {
  type Credential,
  createCredential,
  getCredential,
  listCredentials,
  PAGE,
  revokeCredential,
} from '../auth/credentials/credentials.js';
import type { Db } from '../db/db.js';
import { absent } from '../errors/record-errors.js';
import { noKeysAccepted } from '../errors/request-errors.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import type { Action } from '../http/router.js';
import { singleFlight } from '../single-flight.js';
import type { Metrics } from '../telemetry/metrics.js';
import { parseUuid } from '../uuid.js';
import { TEXT } from './doc.js';
import { at, type Endpoint } from './endpoint.js';
import { readCredentialInput } from './key-input.js';
import { describeManaged } from './managed.js';

/** The services that endpoints for operators run with. */
export interface AdminServices {
  readonly db: Db;
  /** The stored credentials; undefined: keys are not accepted. */
  readonly lookup: CredentialCache | undefined;
  /** The scopes that a key may have. */
  readonly scopes: readonly string[];
  readonly registry: Metrics['registry'];
}

const KEY_PATH = '/keys';
const homeLink = { name: 'keys', position: 7 };
const KEY = describeManaged(
  {
    path: KEY_PATH,
    type: 'Key',
    one: 'an API key, or register a client certificate',
    many: 'keys',
    order: 'newest first',
    limit: PAGE,
  },
  ['CERTIFICATE_TAKEN'],
);

/** API keys and certificates. */
export const KEYS: readonly Endpoint<AdminServices>[] = [
  { ...KEY.list, homeLink, run: listKeys },
  { ...KEY.create, run: createKey },
  { ...KEY.get, run: getKey },
  { ...KEY.remove, run: revokeKey },
];

/** In place of `KEYS`, where AUTH names no scheme for them. */
export const NO_KEYS: Endpoint = {
  ...at('GET', KEY_PATH, 'nothing'),
  homeLink,
  run: noKeys,
};

/** Lists registered keys and certificates, newest first, after `?after=<id>`: 200, 400. */
function listKeys({ db }: AdminServices, request: Request): Promise<Reply> {
  const page = { path: KEY_PATH, limit: PAGE, invalid: '`after` must be the id of a key.' };
  return managedPage(request, page, (after) => listCredentials(db, after), managed);
}

/** Creates a key, which is shown once, or registers a certificate: 201, 400, 409. */
async function createKey({ db, scopes }: AdminServices, request: Request): Promise<Reply> {
  const { input, key } = readCredentialInput(request.body?.value, scopes);
  const credential = await whileSignedIn(db, request.principal, (db) => createCredential(db, input));
  return managedReply(request, managed(credential), { status: 201, secrets: { key } });
}

/** Explains why there is nothing to manage: 404. */
function noKeys(): never {
  throw noKeysAccepted();
}

/** Shows a key or certificate: 200, 404. */
async function getKey({ db }: AdminServices, request: Request): Promise<Reply> {
  const id = parseUuid(request.params.id ?? '');
  const credential = id === undefined ? undefined : await getCredential(db, id);
  if (!credential) throw absent('key', 'simple');
  return managedReply(request, managed(credential));
}

/** Revokes a key or certificate: 204, also if it does not exist. Other processes are notified. */
async function revokeKey({ db, lookup }: AdminServices, request: Request): Promise<Reply> {
  const id = parseUuid(request.params.id ?? '');
  const current = id === undefined ? undefined : await getCredential(db, id);
  requireMatch(request, current && managed(current));
  const hash = id === undefined ? undefined : await revokeCredential(db, id);
  if (hash !== undefined) lookup?.forget(hash);
  return { status: 204, headers: [] };
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

/** The metrics, in maintenance as well. */
export const METRICS: Endpoint<Pick<AdminServices, 'registry'>> = {
  ...at('GET', '/metrics', { scopes: ['admin'] }),
  alwaysAvailable: true,
  doc: {
    id: 'getMetrics',
    tag: 'service',
    summary: 'Metrics in the text format of Prometheus',
    success: {
      200: { description: 'The metrics.', content: { 'text/plain': TEXT }, headers: ['Cache-Control'] },
    },
  },
  open: ({ registry }) => showMetrics(registry),
};

/** Spells the value of samples without a number as the format does: prom-client writes `Nan`. */
const withNaN = (text: string) => text.replace(/ Nan$/gm, ' NaN');

/** The metrics in the text format of Prometheus, version 0.0.4. */
export function showMetrics(registry: Metrics['registry']): Action {
  // Concurrent requests share one response: it takes a while to write.
  const run = singleFlight(async (): Promise<Reply> => {
    const found = await registry();
    const headers = ['Content-Type', found.contentType, 'Cache-Control', 'no-store'];
    return { status: 200, headers, body: withNaN(await found.metrics()) };
  });
  return { run };
}
