import { availableParallelism } from 'node:os';
import { ConfigError, type FeatureSettings, readConfig, settingNames } from '../../src/config/config.js';
import { CITUS, POSTGRESQL } from '../../src/database-url/engine.js';
import { EMBEDDED_SETTINGS } from '../../src/features/embedded/settings.js';
import { JOB_SETTINGS } from '../../src/features/jobs/settings.js';
import { WEBHOOK_SETTINGS } from '../../src/features/webhooks/settings.js';
import { WORKER_SETTINGS } from '../../src/features/workers/settings.js';
import { readSettings, warningsOf } from '../support/settings.js';
import t from '../support/test.js';
import { words } from '../support/words.js';

type Env = Record<string, string>;

/** The faults without what each setting is. */
function faultsOf(env: Env): readonly string[] {
  try {
    readSettings(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults.map((fault) => fault.replace(/; it is `.*`$/s, ''));
    throw error;
  }
}

const DEFAULTS = {
  host: '127.0.0.1',
  port: 3000,
  databaseUrl: undefined,
  logLevel: 'warn',
  bodyLimit: 1_048_576,
  dbConnections: 3,
  dbStreams: 4,
  dbTimeoutMs: 10_000,
  streamStallMs: 30_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  keepAliveMs: 65_000,
  maxConnections: 16_384,
  bodyBytes: 134_217_728,
  bodyBytesPerAddress: 33_554_432,
  bodyMinRate: 1000,
  bodyRateMs: 5000,
  responseBytes: 268_435_456,
  batchBytes: 4_194_304,
  maxRequests: 1024,
  shutdownMs: 10_000,
  retirement: { 1: { deprecation: undefined, sunset: undefined, successor: '/api/v2' } },
  jwtSkewSeconds: 5,
  authFailures: 10,
  rateLimit: undefined,
  rateLimitStore: 'memory',
  corsOrigins: [],
  events: true,
  eventsRetentionSeconds: 604_800,
  historyRetentionSeconds: 3_153_600_000,
  eventsMax: 10_000_000,
  eventsStreams: 5000,
  eventsStreamsPerPrincipal: 100,
  eventsStreamMs: 900_000,
  eventsHeartbeatMs: 15_000,
  eventsBuffer: 262_144,
  trustProxy: undefined,
  proxyHeaders: 'x-forwarded',
  allowedHosts: [],
  hstsMaxAgeSeconds: 31_536_000,
  accessLog: false,
  metricsPort: undefined,
  metricsHost: '127.0.0.1',
};

const OF_FEATURES: readonly [FeatureSettings, object][] = [
  [EMBEDDED_SETTINGS, { dataDir: './data' }],
  [
    WEBHOOK_SETTINGS,
    {
      webhookDelivery: true,
      webhookTimeoutMs: 15_000,
      webhookRetries: [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 28_800, 43_200, 43_200, 86_400],
      webhookConcurrency: 64,
      webhookTargetConcurrency: 8,
      webhookPollMs: 1000,
      webhookRetentionSeconds: 604_800,
    },
  ],
];

t.test('an empty environment gives the defaults', async (t) => {
  t.match(readSettings({}), DEFAULTS);
  for (const [settings, defaults] of OF_FEATURES) t.match(settings.of(readSettings({})), defaults);
  t.ok(Object.isFrozen(readSettings({})));
});

t.test('an empty or blank variable is as one that is not set', async (t) => {
  const names = ['HOST', 'PORT', 'DATABASE_URL', 'DATA_DIR', 'LOG_LEVEL', 'V1_SUNSET', 'AUTH'];
  for (const blank of ['', '  ', '\n']) {
    t.match(readSettings(Object.fromEntries(names.map((name) => [name, blank]))), DEFAULTS);
  }
});

t.test('WORKERS accepts a number, or `auto` for as many as there are cores', async (t) => {
  const workersOf = (env: Env) => WORKER_SETTINGS.of(readSettings(env)).workers;
  t.equal(workersOf({}), 1);
  t.equal(workersOf({ WORKERS: '256' }), 256);
  t.equal(workersOf({ WORKERS: 'auto' }), Math.min(256, availableParallelism()));
  for (const bad of ['0', '257', '-1', '1.5', 'Auto', 'all', '9999'])
    t.strictSame(faultsOf({ WORKERS: bad }), ['WORKERS must be an integer from 1 to 256, or `auto`'], bad);
});

t.test('space around a value is left out', async (t) => {
  const config = readSettings({ PORT: ' 80 ', DATA_DIR: ' /var/lib/plinth\n' });
  t.equal(config.port, 80);
  t.equal(EMBEDDED_SETTINGS.of(config).dataDir, '/var/lib/plinth');
});

t.test('what the issuer writes', async (t) => {
  const defaults = { jwtType: 'at+jwt', jwtScopesClaims: ['scope', 'scp'], jwtScopesMap: undefined };
  t.match(readSettings({}), defaults);
  t.strictSame(readSettings({ JWT_SCOPES_CLAIM: 'scp, https://api.example.org/roles' }).jwtScopesClaims, [
    'scp',
    'https://api.example.org/roles',
  ]);
  t.strictSame(faultsOf({ JWT_TYP: 'jwt' }), ['JWT_TYP must be `at+jwt` or `JWT`']);
  t.match(faultsOf({ JWT_SCOPES_CLAIM: 'x'.repeat(257) }), [/^JWT_SCOPES_CLAIM must be up to 8 names/]);
  t.match(faultsOf({ JWT_SCOPES_CLAIM: 'a b c d e f g h i' }), [/^JWT_SCOPES_CLAIM must be/]);
  t.match(faultsOf({ JWT_SCOPES_CLAIM: ',' }), [/^JWT_SCOPES_CLAIM must be/]);
  const long = JSON.stringify(Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`r${i}`, ['self']])));
  for (const bad of ['x', '[]', '{}', 'null', '{"a":"b"}', '{"a":[]}', '{"a":["b c"]}', '{"":["b"]}', long])
    t.match(faultsOf({ JWT_SCOPES_MAP: bad }), [/^JWT_SCOPES_MAP must be a JSON object/], bad);
  const account = { AUTH: 'bearer', ISSUER: 'caller@project.iam.gserviceaccount.com', AUDIENCE: 'api' };
  t.strictSame(faultsOf(account), ['ISSUER is an email address, which has no metadata: set JWKS_URI']);
  t.strictSame(faultsOf({ ...account, JWKS_URI: 'https://www.googleapis.com/jwks' }), []);
});

/** The variables that take an integer: the least and the most. */
const INTEGERS: Record<string, [number, number]> = {
  PORT: [0, 65_535],
  BODY_LIMIT: [1024, 104_857_600],
  DB_CONNECTIONS: [1, 100],
  DB_START_MS: [0, 86_400_000],
  DB_TIMEOUT_MS: [10, 600_000],
  REQUEST_TIMEOUT_MS: [100, 3_600_000],
  KEEP_ALIVE_MS: [0, 3_600_000],
  MAX_CONNECTIONS: [1, 1_000_000],
  BODY_MIN_RATE: [0, 1_000_000_000],
  MAX_REQUESTS: [1, 100_000],
  SHUTDOWN_MS: [0, 600_000],
  SHUTDOWN_DELAY_MS: [0, 600_000],
  AUTH_FAILURES: [0, 1_000_000],
  SIGN_INS_PER_ADDRESS: [0, 1_000_000],
  HSTS_MAX_AGE: [0, 3_153_600_000],
  EVENTS_RETENTION: [1, 3_153_600_000],
  HISTORY_RETENTION: [1, 3_153_600_000],
  WEBHOOK_RETENTION: [1, 31_536_000],
};

t.test('bodies in all may take no less than one may', async (t) => {
  const fault = 'BODY_BYTES must be at least BODY_LIMIT';
  t.strictSame(faultsOf({ BODY_BYTES: '1048575' }), [fault]);
  t.strictSame(faultsOf({ BODY_BYTES: '1024', BODY_LIMIT: '1025' }), [fault]);
  t.strictSame(faultsOf({ BODY_BYTES: '1024', BODY_LIMIT: '1024' }), []);
  t.equal(readSettings({ BODY_BYTES: '2048', BODY_LIMIT: '1024' }).bodyBytesPerAddress, 1024);
  const range = 'BODY_BYTES must be an integer from 1024 to 17179869184';
  for (const text of ['1023', '17179869185', '1e6', '-1']) t.same(faultsOf({ BODY_BYTES: text }), [range]);
});

for (const [name, [min, max]] of Object.entries(INTEGERS)) {
  t.test(`${name} accepts an integer from ${min} to ${max}`, async (t) => {
    for (const valid of [min, max]) t.strictSame(faultsOf({ [name]: String(valid) }), [], `${valid}`);
    const bad = [...words('-1 1.5 1e3 0x10 +5 abc 12abc NaN Infinity'), '1 2', '9'.repeat(13), max + 1];
    if (min > 0) bad.push(min - 1);
    for (const text of bad) {
      const faults = faultsOf({ [name]: String(text) });
      t.strictSame(faults, [`${name} must be an integer from ${min} to ${max}`], `not ${text}`);
    }
  });
}

const TEXTS: { name: string; valid: string[]; bad: string[] }[] = [
  { name: 'WEBHOOK_DELIVERY', valid: ['on', 'off'], bad: ['yes', '1', 'ON'] },
  { name: 'INSECURE', valid: ['basic', 'webhooks', 'basic,webhooks'], bad: ['on', 'loopback', 'basic tls'] },
  {
    name: 'INTROSPECTION',
    valid: ['https://a.example/i', 'https://a:b@a.example/i', 'http://a%20b:%C3%BC@127.0.0.1/i'],
    bad: ['a.example', 'http://a:b@a.example/i', 'https://a:%@a.example/i', 'https://%C3:b@a.example/i'],
  },
  {
    name: 'WEBHOOK_ALLOW',
    valid: ['localhost', '10.0.0.0/8, fd00::/8', 'Hooks.Internal ::1'],
    bad: ['127.1', '10.0.0.0/33', 'https://x', '*', 'a/b', '[::1]'],
  },
  {
    name: 'HOST',
    valid: ['127.0.0.1', '127.1.2.3', '::1', 'localhost', 'LOCALHOST'],
    bad: [
      'a b',
      ...words(`
        -a a- http://localhost localhost:80 [::1] 256.0.0.1 1.2.3 a/b é *
      `),
    ],
  },
  {
    name: 'DATABASE_URL',
    valid: [
      'postgres://u:p@h/d',
      'postgresql://u:p@h:5432/d?sslmode=require',
      'postgres://u:a%25b@h/d',
      'postgres://[::1]/d',
    ],
    bad: words(`
    h/d mysql://u:p@h/d http://h postgres postgres:d postgres://h:port/d postgres://u:100%@h/d
  `),
  },
  {
    name: 'LOG_LEVEL',
    valid: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    bad: ['INFO', 'verbose', '30', 'toString'],
  },
  ...['V1_DEPRECATION', 'V1_SUNSET'].map((name) => ({
    name,
    valid: ['2026-12-31T00:00:00Z', '2026-12-31T23:59:59.123Z', '2028-02-29T00:00:00+02:00'],
    bad: [
      ...words(`
    2026-12-31 2026-12-31T00:00:00 tomorrow 1798675200 2026-02-30T00:00:00Z 2026-02-29T00:00:00+02:00
    2026-13-01T00:00:00Z 2026-12-31T24:00:00Z 2026-12-31T00:60:00Z
  `),
      'Thu, 31 Dec 2026 00:00:00 GMT',
    ],
  })),
  {
    name: 'RATE_LIMIT',
    valid: ['1/1', '100/60', '999999999/99999'],
    bad: ['100', '100/', '/60', '0/60', '100/0', '-1/60', '1.5/60', '100/60s', '100 / 60', '1/100000', 'off'],
  },
  { name: 'RATE_LIMIT_STORE', valid: ['memory', 'postgres'], bad: ['Memory', 'redis', 'off'] },
  {
    name: 'CORS_ORIGINS',
    valid: [
      'https://app.example.org',
      'http://localhost:8080, https://[::1]:3000',
      'https://a.org\nhttps://b.org',
    ],
    bad: [
      ...words(`
    * null app.example.org https://app.example.org/ https://app.example.org/a https://*.example.org
    https://APP.example.org https://app.example.org:443 https://user@app.example.org file:///
  `),
      'https://app.example.org, *',
    ],
  },
  {
    name: 'TRUST_PROXY',
    valid: ['127.0.0.1', '10.0.0.0/8, ::1', '2001:db8::/32', '0.0.0.0/0'],
    bad: ['localhost', '10.0.0.0/33', '10.0.0.0/', '::/129', '10.0.0', '*', '10.0.0.0/8, all', 'true'],
  },
  { name: 'PROXY_HEADERS', valid: ['forwarded', 'x-forwarded'], bad: ['Forwarded', 'both', 'x-real-ip'] },
  {
    name: 'ALLOWED_HOSTS',
    valid: ['api.example.org', 'localhost, 10.0.0.5 ::1', 'API.internal'],
    bad: ['*', '*.example.org', 'a:80', '[::1]', 'http://a', '10.0.0.0/8', 'a_b/c', '1.2.3'],
  },
  { name: 'AUTH', valid: ['none'], bad: ['None', 'digest', '0', 'bearer,none'] },
];

for (const { name, valid, bad } of TEXTS) {
  t.test(`${name} accepts what it says and nothing else`, async (t) => {
    for (const text of valid) t.strictSame(faultsOf({ [name]: text }), [], text);
    for (const text of bad) {
      const faults = faultsOf({ [name]: text });
      t.equal(faults.length, 1, `not ${JSON.stringify(text)}`);
      t.match(faults[0], new RegExp(`^${name} must be \\S`));
    }
  });
}

t.test('dates are read as the instant that they name', async (t) => {
  const { deprecation, sunset } = readSettings({
    V1_DEPRECATION: '2026-12-31T01:00:00+01:00',
    V1_SUNSET: '2027-12-31T00:00:00Z',
  }).retirement[1]!;
  t.equal(deprecation?.toISOString(), '2026-12-31T00:00:00.000Z');
  t.equal(sunset?.toISOString(), '2027-12-31T00:00:00.000Z');
});

t.test('a limit and the origins are read as what they name', async (t) => {
  t.match(readSettings({ RATE_LIMIT: '100/60', CORS_ORIGINS: 'https://a.org,http://b.org:81' }), {
    rateLimit: { requests: 100, seconds: 60 },
    corsOrigins: ['https://a.org', 'http://b.org:81'],
  });
});

t.test('the successor of version 1 is version 2 beside it', async (t) => {
  const of = (env: Env) => readSettings(env).retirement[1]!.successor;
  t.equal(of({}), '/api/v2');
  t.equal(of({ PUBLIC_PREFIX: '/shop/api/v1' }), '/shop/api/v2');
  t.equal(of({ PUBLIC_PREFIX: '/shop' }), '/shop/api/v2');
});

t.test('a sunset before the deprecation is a fault', async (t) => {
  const faults = faultsOf({ V1_DEPRECATION: '2026-12-31T00:00:00Z', V1_SUNSET: '2026-12-30T00:00:00Z' });
  t.strictSame(faults, ['V1_SUNSET must be a date that is not before V1_DEPRECATION']);
  t.strictSame(faultsOf({ V1_DEPRECATION: '2026-12-31T00:00:00Z', V1_SUNSET: '2026-12-31T00:00:00Z' }), []);
});

t.test('every fault is reported at once, each with its variable and what is expected', async (t) => {
  const bad: Env = { V1_DEPRECATION: 'soon', V1_SUNSET: 'late', LOG_LEVEL: 'loud' };
  for (const name of Object.keys(INTEGERS)) bad[name] = '-1';
  Object.assign(bad, { HOST: 'a b', DATABASE_URL: 'mysql://root:secret@h/d', AUTH: 'digest' });
  const faults = faultsOf(bad);
  t.equal(faults.length, Object.keys(bad).length);
  for (const name of Object.keys(bad)) {
    t.equal(faults.filter((fault) => fault.startsWith(`${name} must be `)).length, 1, name);
  }
  t.notMatch(faults.join(), /secret/, 'values, which may be secret, are not repeated');
  t.throws(() => readSettings(bad), { message: /PORT must be/ });
});

t.test('a HOST that others can reach needs AUTH=none', async (t) => {
  for (const HOST of words('0.0.0.0 :: 10.0.0.1 ::ffff:127.0.0.1 example.org localhost.example.org')) {
    for (const AUTH of [undefined, '', ' ']) {
      const faults = faultsOf({ HOST, ...(AUTH === undefined ? {} : { AUTH }) });
      t.equal(faults.length, 1, `${HOST} with AUTH ${JSON.stringify(AUTH)}`);
      t.match(faults[0], /^HOST is .*AUTH=none/);
    }
    t.strictSame(faultsOf({ HOST, AUTH: 'none' }), [], `${HOST} with AUTH=none`);
    t.equal(faultsOf({ HOST, AUTH: 'digest' }).length, 1, 'one fault, not two');
  }
});

t.test('with an access log the level is info, unless it is said to be more', async (t) => {
  t.match(readSettings({ ACCESS_LOG: 'on' }), { accessLog: true, logLevel: 'info' });
  t.equal(readSettings({ ACCESS_LOG: 'on', LOG_LEVEL: 'trace' }).logLevel, 'trace');
  for (const LOG_LEVEL of ['warn', 'error', 'silent'])
    t.same(faultsOf({ ACCESS_LOG: 'on', LOG_LEVEL }), [
      'LOG_LEVEL must be one of info, debug, trace with ACCESS_LOG',
    ]);
  for (const text of ['yes', 'toString'])
    t.same(faultsOf({ ACCESS_LOG: text }), ['ACCESS_LOG must be `on` or `off`']);
});

t.test('the listener of the metrics', async (t) => {
  t.match(readSettings({ METRICS_PORT: '[::]:9464' }), { metricsPort: 9464, metricsHost: '::' });
  t.match(readSettings({ METRICS_PORT: '0.0.0.0:0' }), { metricsPort: 0, metricsHost: '0.0.0.0' });
  for (const METRICS_PORT of words(`
    -1 65536 on 1.5 123456 localhost:1 ::1:1 [1.2.3.4]:1 :1 1.2.3.4:
  `)) {
    const [fault, ...more] = faultsOf({ METRICS_PORT });
    t.match(fault, /^METRICS_PORT must be a port from 0 to 65535, or /, METRICS_PORT);
    t.same(more, []);
  }
});

t.test('EVENTS accepts on, as without it, or off', async (t) => {
  for (const text of ['on', 'off']) t.equal(readSettings({ EVENTS: text }).events, text === 'on');
  t.strictSame(faultsOf({ EVENTS: 'no' }), ['EVENTS must be `on` or `off`']);
});

t.test('a Citus cluster is named by DATABASE_URL, and has no DATABASE_READ_URL', async (t) => {
  const cluster = { DATABASE_ENGINE: 'citus', DATABASE_URL: 'postgres://h/d' };
  t.equal(readSettings(cluster).databaseEngine, CITUS);
  t.equal(readSettings({}).databaseEngine, POSTGRESQL);
  t.strictSame(faultsOf({ DATABASE_ENGINE: 'citus' }), ['DATABASE_ENGINE=citus needs DATABASE_URL']);
  t.strictSame(faultsOf({ ...cluster, DATABASE_READ_URL: 'postgres://r/d' }), [
    'DATABASE_READ_URL cannot be combined with DATABASE_ENGINE=citus',
  ]);
  t.strictSame(faultsOf({ ...cluster, COMPAT: 'json-server' }), [
    'COMPAT=json-server cannot be combined with DATABASE_ENGINE=citus',
  ]);
  t.strictSame(faultsOf({ DATABASE_ENGINE: 'mysql' }), ['DATABASE_ENGINE must be `postgresql` or `citus`']);
});

t.test('a fault shows what the setting is, up to forty characters, and no secret', async (t) => {
  const faults = (env: Env) => {
    try {
      return readSettings(env);
    } catch (error) {
      return (error as ConfigError).faults;
    }
  };
  t.same(faults({ PORT: 'abc' }), ['PORT must be an integer from 0 to 65535; it is `abc`']);
  t.match(faults({ PORT: '9'.repeat(100) }), [/; it is `9{40}\.\.\.`$/]);
  t.notMatch(faults({ DATABASE_URL: 'mysql://u:secret@h/d' }), [/secret/]);
});

t.test('a setting that another one has replaced is a fault, whatever its value is', async (t) => {
  const replaced = {
    EVENTS_KEEP: '60',
    BASIC_INSECURE: 'loopback',
    WEBHOOK_INSECURE: 'off',
    INTROSPECTION_URI: 'https://a.example/introspect',
    INTROSPECTION_CLIENT_ID: 'a',
    INTROSPECTION_CLIENT_SECRET: 'b',
  };
  for (const [name, value] of Object.entries(replaced)) {
    t.match(faultsOf({ [name]: value }), [/ is now (a part of )?(IN|EVENTS_RETENTION)/], name);
    t.same(faultsOf({ [name]: ' ' }), []);
    t.same(warningsOf({ [name]: value }), []);
  }
  t.same(readSettings({ INTROSPECTION: 'https://a%20b:c%3A%2F%C3%BC@h.example/i?x=1' }).introspection, {
    uri: 'https://h.example/i?x=1',
    clientId: 'a b',
    clientSecret: 'c:/ü',
  });
});

t.test('a removed setting is ignored with a warning', async (t) => {
  t.strictSame(faultsOf({ DB_STREAMS: 'x' }), []);
  t.same(warningsOf({ DATABASE_URL: 'postgres://h/d', DB_STREAMS: 'x', JOBS_MAX: '5', PORT: '1' }), [
    'DB_STREAMS is no longer a setting and is ignored',
    'JOBS_MAX is no longer a setting and is ignored',
  ]);
  t.same(warningsOf({ PGHOST: 'h' }), [
    'PGHOST is ignored: without DATABASE_URL the service uses its embedded database',
  ]);
});

t.test('tests replace constants', async (t) => {
  const config = readSettings({}, { streamStallMs: 1, webhookPollMs: 2, jobsMax: 3 });
  t.match(config, { streamStallMs: 1 });
  t.notOk('webhookPollMs' in config);
  t.match(WEBHOOK_SETTINGS.of(config), { webhookPollMs: 2, webhookConcurrency: 64 });
  t.match(JOB_SETTINGS.of(config), { jobs: true, jobsMax: 3, jobTtl: 86_400 });
});

t.test('a program without a feature has the defaults of its settings', async (t) => {
  const config = readConfig({ WEBHOOK_RETENTION: 'x', DATA_DIR: '/srv' });
  t.equal(WEBHOOK_SETTINGS.of(config).webhookRetentionSeconds, 604_800);
  t.equal(EMBEDDED_SETTINGS.of(config).dataDir, './data');
  const names = settingNames([]);
  t.notOk(names.some((name) => name.startsWith('WEBHOOK_') || name === 'DATA_DIR'));
  t.same(settingNames([WEBHOOK_SETTINGS]).slice(0, names.length), names);
});
