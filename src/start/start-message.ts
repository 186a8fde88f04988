import { isOn } from '../app/open-features.js';
import type { Config } from '../config/config.js';
import { isLoopback } from '../config/parsers.js';
import { hostsOf } from '../config/server-settings.js';
import { serversOf } from '../database-url/servers.js';
import type { FeatureEntry, Started, StartLine } from '../feature.js';

/**
 * The message of the start: the address, and the settings that a new user needs to know. `loaded`: the number of settings
 * from a file .env.
 */
export async function startMessage(
  features: readonly FeatureEntry[],
  config: Config,
  started: Started,
  collections: readonly string[],
  loaded: number | undefined,
): Promise<string> {
  const lines: StartLine[] = [
    {
      name: 'collections',
      text: `${collections.join(', ')} (${config.collections ?? 'built in'})`,
      position: 1,
    },
    ...(config.databaseUrl === undefined
      ? []
      : [{ name: 'database', text: databaseOf(config.databaseUrl), position: 2 }]),
    { name: 'access', text: accessOf(config), position: 3 },
    ...(loaded === undefined ? [] : [{ name: 'settings', text: `${loaded} from .env`, position: 5 }]),
  ];
  for (const feature of features) {
    if (!isOn(feature, config)) continue;
    lines.push(...((await (await feature.load()).default.startLines?.(config, started)) ?? []));
  }
  const details = lines
    .sort((a, b) => a.position - b.position)
    .map(({ name, text }) => `  ${name.padEnd(14)} ${text}\n`);
  return `Plinth is ready on ${started.url}\n${details.join('')}`;
}

/** A database without the user and the password. */
function databaseOf(url: string): string {
  const { servers } = serversOf(url);
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
