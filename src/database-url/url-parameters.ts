/** The parameters of a connection by their names in libpq. */
export type Parameters = ReadonlyMap<string, string>;

/** A map from names: a name that objects inherit, as `constructor`, is none of them. */
function mapOf<V>(values: Readonly<Record<string, V>>): ReadonlyMap<string, V> {
  return new Map(Object.entries(values));
}

/** The parameters that take one of a few values. Other values cannot be fulfilled. */
const CHOICES: ReadonlyMap<string, readonly string[]> = mapOf({
  sslmode: ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'],
  sslnegotiation: ['postgres', 'direct'],
  sslcertmode: ['allow', 'disable'],
  sslsni: ['0', '1'],
  ssl_min_protocol_version: ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'],
  ssl_max_protocol_version: ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'],
  // The driver speaks 3.0.
  min_protocol_version: ['3.0'],
  max_protocol_version: ['3.0', '3.2', 'latest'],
  channel_binding: ['disable', 'prefer'],
  gssencmode: ['disable', 'prefer'],
  target_session_attrs: ['any', 'primary', 'read-write'],
  load_balance_hosts: ['disable'],
  client_encoding: ['auto', 'UTF8', 'utf8', 'UTF-8', 'utf-8'],
  keepalives: ['0', '1'],
});

/** The parameters that take any text. */
const TEXTS = new Set([
  ...[
    'host',
    'hostaddr',
    'port',
    'dbname',
    'user',
    'password',
    'application_name',
    'fallback_application_name',
  ],
  ...['options', 'search_path', 'sslrootcert', 'sslcert', 'sslkey', 'sslpassword', 'keepalives_idle'],
]);

/** The parameters without an effect here, which a warning reports, and why. */
const IGNORED = mapOf({
  connect_timeout: 'DB_TIMEOUT_MS is the limit',
  keepalives_interval: 'the operating system sets it',
  keepalives_count: 'the operating system sets it',
  tcp_user_timeout: 'DB_TIMEOUT_MS is the limit',
  sslcompression: 'TLS has no compression',
  krbsrvname: 'GSSAPI is not supported',
  gsslib: 'GSSAPI is not supported',
  gssdelegation: 'GSSAPI is not supported',
});

/** Advice beside the refusal of a parameter. */
const ADVICE = mapOf({
  channel_binding:
    'remove it and set sslmode=verify-full, with which the certificate authenticates the server',
  schema: 'search_path selects a schema',
  currentSchema: 'search_path selects a schema',
  service: 'write the parameters of the service into the URL',
  passfile: 'write the password into the URL',
  pgbouncer: 'the service needs a session of PostgreSQL itself',
});

const DEFAULT_ADVICE = 'a setting of the server goes into options=-c%20name%3Dvalue';

/** Why a parameter cannot be used; undefined: it can. */
export function parameterFault(name: string, value: string): string | undefined {
  const choices = CHOICES.get(name);
  if (value.includes('\0')) return `the parameter ${name} must not contain U+0000`;
  if (choices?.includes(value)) return undefined;
  if (choices) {
    const advice = ADVICE.has(name) ? `: ${ADVICE.get(name)}` : '';
    return `the parameter ${name} must be ${choices.join(' or ')}${advice}`;
  }
  if (TEXTS.has(name) || IGNORED.has(name)) return undefined;
  return `the parameter ${shown(name)} is not supported: ${ADVICE.get(name) ?? DEFAULT_ADVICE}`;
}

/** Whether a name is that of a parameter, so that a message may hold it. */
export const isKnown = (name: string): boolean =>
  [CHOICES, IGNORED, ADVICE].some((known) => known.has(name)) || TEXTS.has(name);

/** One line for each parameter without an effect. */
export const ignoredParameters = (names: Iterable<string>): string[] =>
  [...names].flatMap((name) =>
    IGNORED.has(name) ? [`the parameter ${name} is ignored: ${IGNORED.get(name)}`] : [],
  );

const shown = (name: string): string => (name.length > 40 ? `${name.slice(0, 40)}...` : name);

/** The variables of libpq that are defaults of parameters. */
const VARIABLES = mapOf({
  PGHOST: 'host',
  PGHOSTADDR: 'hostaddr',
  PGPORT: 'port',
  PGDATABASE: 'dbname',
  PGUSER: 'user',
  PGPASSWORD: 'password',
  PGOPTIONS: 'options',
  PGAPPNAME: 'application_name',
  PGCLIENTENCODING: 'client_encoding',
  PGTARGETSESSIONATTRS: 'target_session_attrs',
  PGLOADBALANCEHOSTS: 'load_balance_hosts',
  PGSSLMODE: 'sslmode',
  PGSSLNEGOTIATION: 'sslnegotiation',
  PGSSLROOTCERT: 'sslrootcert',
  PGSSLCERT: 'sslcert',
  PGSSLKEY: 'sslkey',
  PGSSLCERTMODE: 'sslcertmode',
  PGSSLSNI: 'sslsni',
  PGSSLMINPROTOCOLVERSION: 'ssl_min_protocol_version',
  PGSSLMAXPROTOCOLVERSION: 'ssl_max_protocol_version',
  PGCHANNELBINDING: 'channel_binding',
  PGGSSENCMODE: 'gssencmode',
  // Refused: without them, a connection would be protected less than the operator demands.
  PGSSLCRL: 'sslcrl',
  PGSSLCRLDIR: 'sslcrldir',
  PGREQUIREAUTH: 'require_auth',
  PGREQUIREPEER: 'requirepeer',
  PGMINPROTOCOLVERSION: 'min_protocol_version',
  PGMAXPROTOCOLVERSION: 'max_protocol_version',
});

/** The variables of libpq without an effect here. */
const IGNORED_VARIABLES = new Set([
  ...['PGCONNECT_TIMEOUT', 'PGPASSFILE', 'PGSERVICE', 'PGSERVICEFILE', 'PGSYSCONFDIR'],
  ...['PGSSLCOMPRESSION', 'PGKRBSRVNAME', 'PGGSSLIB', 'PGGSSDELEGATION', 'PGTZ', 'PGDATESTYLE', 'PGGEQO'],
]);

type Env = Readonly<Record<string, string | undefined>>;

/** The parameters that variables of libpq set, each with its variable. */
export function* variablesIn(env: Env): Generator<[variable: string, name: string, value: string]> {
  for (const [variable, name] of VARIABLES) {
    const value = env[variable];
    if (value) yield [variable, name, value];
  }
  // Of old versions of libpq, which still honours it.
  if (env.PGREQUIRESSL?.startsWith('1') && !env.PGSSLMODE) yield ['PGREQUIRESSL', 'sslmode', 'require'];
}

/** One line for each variable of libpq without an effect; with the embedded database, none has any. */
export const ignoredVariables = (env: Env, isEmbedded: boolean): string[] =>
  Object.keys(env)
    .filter(
      (name) =>
        env[name] &&
        (IGNORED_VARIABLES.has(name) || (isEmbedded && (VARIABLES.has(name) || name === 'PGREQUIRESSL'))),
    )
    .map((name) =>
      isEmbedded
        ? `${name} is ignored: without DATABASE_URL the service uses its embedded database`
        : `${name} is ignored: set DATABASE_URL`,
    );
