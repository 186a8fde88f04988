import type { Config } from './config/config.js';
import { hostsOf } from './config/edge.js';
import { isLoopback } from './config/parsers.js';
import { serversOf } from './database-url/servers.js';
import type { Run } from './db/db.js';
import { EMBEDDED_SETTINGS } from './features/embedded/settings.js';
import { ISSUER_SETTINGS } from './features/issuer/settings.js';
import { WORKER_SETTINGS } from './features/workers/settings.js';

/** The parts that an authorization server lacks before someone can sign in. */
export interface Missing {
  readonly user: boolean;
  readonly client: boolean;
}

/** Reads what is missing. A user is one with a password. */
export async function missingIn(run: Run): Promise<Missing> {
  const [row] = await run(
    'select exists (select from passwords) as users, exists (select from issuer_clients) as clients',
    [],
  );
  return { user: row!.users !== true, client: row!.clients !== true };
}

/** The message of the start: the address, and the settings that a new user needs to know. */
export function startMessage(
  config: Config,
  url: string,
  collections: readonly string[],
  loaded?: number,
  missing: Missing = { user: false, client: false },
): string {
  const { workers } = WORKER_SETTINGS.of(config);
  const lines: [name: string, text: string][] = [
    ['collections', `${collections.join(', ')} (${config.collections ?? 'built in'})`],
    ['database', databaseOf(config)],
    ['access', accessOf(config)],
    ...(workers > 1 ? [['workers', String(workers)] as [string, string]] : []),
    ...(loaded === undefined ? [] : [['settings', `${loaded} from .env`] as [string, string]]),
    ['documentation', `${url}/docs, ${url}/openapi.json`],
  ];
  if (missing.user)
    lines.push(['first user', 'plinth users create ann@example.org --name Ann --scopes admin']);
  if (missing.client)
    lines.push([
      'first client',
      'plinth clients create --name terminal --redirect http://127.0.0.1/callback --scopes openid,self,admin',
    ]);
  if (ISSUER_SETTINGS.of(config).authServer) lines.push(['sign in', 'plinth login --client ID']);
  const details = lines.map(([name, text]) => `  ${name.padEnd(14)} ${text}\n`);
  return `Plinth is ready on ${url}\n${details.join('')}`;
}

/** Without the user and the password. */
function databaseOf(config: Config): string {
  const { databaseUrl } = config;
  if (databaseUrl === undefined) return `embedded PostgreSQL in ${EMBEDDED_SETTINGS.of(config).dataDir}`;
  const { servers } = serversOf(databaseUrl);
  return `PostgreSQL on ${servers.map(({ name }) => name).join(', ')}/${servers[0].database}`;
}

function accessOf(config: Config): string {
  const { auth } = config;
  return auth.length > 0
    ? `credentials of ${auth.join(', ')}; each may do what its scopes permit`
    : `AUTH=none: every client may read and write everything; ${hostsLine(config)}`;
}

/** Addresses to listen on that no client uses. */
const WILDCARDS = new Set(['0.0.0.0', '::']);

/** Which Host fields are accepted while AUTH is off. */
function hostsLine(config: Config): string {
  const listed = hostsOf(config).filter((host) => !isLoopback(host) && !WILDCARDS.has(host));
  if (listed.length > 0) return `hosts: localhost, ${listed.join(', ')}`;
  return WILDCARDS.has(config.host)
    ? 'hosts: only localhost; for other clients set ALLOWED_HOSTS to the names and addresses that they use'
    : 'hosts: localhost';
}
