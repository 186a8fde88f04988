import { userInfo } from 'node:os';
import { DatabaseUrlError, serversOf } from '../../src/database-url/servers.js';
import { eachServer } from '../../src/db/open-database.js';
import { REPLICA_SETTINGS } from '../../src/features/replicas/settings.js';
import { readSettings, warningsOf } from '../support/settings.js';
import t from '../support/test.js';

const BASE = {
  host: 'h',
  port: 5432,
  path: undefined,
  user: 'u',
  password: 'p',
  database: 'd',
  session: {},
};

/** The mode of TLS of a URL's first server. */
const modeOf = (url: string) => serversOf(url).servers[0].tls.mode;

t.test('each form of a URL that libpq accepts names the server that it names there', async (t) => {
  const { username } = userInfo();
  const rows: [url: string, expected: object][] = [
    ['postgres://u:p@h/d', BASE],
    ['postgresql://u:p@h:5433/d', { ...BASE, port: 5433, name: 'h:5433' }],
    ['postgres://h', { ...BASE, user: username, password: '', database: username }],
    ['postgres://', { ...BASE, host: 'localhost', user: username, password: '', database: username }],
    ['postgres://u:p%40%3A%2F@h/d%20e', { ...BASE, password: 'p@:/', database: 'd e' }],
    ['postgres://u:p@q:r#@h/d', { ...BASE, password: 'p@q:r#' }],
    ['postgres://u:p@[2001:db8::1]/d', { ...BASE, host: '2001:db8::1', name: '[2001:db8::1]:5432' }],
    ['postgres://u:p@[::1]:5433/d', { ...BASE, host: '::1', port: 5433, name: '[::1]:5433' }],
    [
      'postgres://u:p@%2Frun%2Fpostgresql/d',
      { ...BASE, host: '/run/postgresql', path: '/run/postgresql/.s.PGSQL.5432' },
    ],
    [
      'postgres:///d?host=/run/postgresql&user=u&password=p&port=5433',
      { ...BASE, host: '/run/postgresql', port: 5433, path: '/run/postgresql/.s.PGSQL.5433' },
    ],
    [
      'postgres://u:p@/d?host=/cloudsql/a:b:c',
      { ...BASE, host: '/cloudsql/a:b:c', path: '/cloudsql/a:b:c/.s.PGSQL.5432' },
    ],
    ['postgres://u:p@x/y?host=h&dbname=d', BASE],
    [
      'postgres://u:p@h/d?application_name=a%20b&options=-c%20search_path%3Ds&search_path=s',
      { ...BASE, session: { application_name: 'a b', options: '-c search_path=s', search_path: 's' } },
    ],
  ];
  for (const [url, expected] of rows) t.match(serversOf(url).servers[0], expected, url);
});

t.test('several hosts are attempted in order, for the one that accepts writes', async (t) => {
  const namesOf = (url: string) => serversOf(url).servers.map(({ name }) => name);
  t.same(namesOf('postgres://u:p%40@a:1,b,[::1]:3/d'), ['a:1', 'b:5432', '[::1]:3']);
  t.same(namesOf('postgres:///d?host=a,b&port=1,2'), ['a:1', 'b:2']);
  t.same(namesOf('postgres:///d?host=a,b&port=7'), ['a:7', 'b:7']);
  t.equal(serversOf('postgres://a,b/d').requiresPrimary, true);
  t.equal(serversOf('postgres://a/d').requiresPrimary, false);
  for (const target of ['primary', 'read-write'])
    t.equal(serversOf(`postgres://a/d?target_session_attrs=${target}`).requiresPrimary, true);
  t.equal(serversOf('postgres://a/d?target_session_attrs=any').requiresPrimary, false);
  for (const { name, url } of eachServer('postgres://u@a:1,[::1],%2Frun/d?sslmode=require')) {
    const [server, ...others] = serversOf(url).servers;
    t.same([server.name, server.user, server.database, others], [name, 'u', 'd', []]);
    t.equal(server.tls.mode, 'require');
  }
});

t.test('TLS is requested as libpq does', async (t) => {
  t.equal(modeOf('postgres://h/d'), 'prefer', 'by default if the server has it');
  for (const mode of ['disable', 'prefer', 'require', 'verify-full'])
    t.equal(modeOf(`postgres://h/d?sslmode=${mode}`), mode);
  t.equal(modeOf('postgres://h/d?sslmode=verify-ca&sslrootcert=/ca.pem'), 'verify-ca');
  t.equal(modeOf('postgres://h/d?sslmode=require&sslrootcert=/ca.pem'), 'verify-ca');
  const { tls } = serversOf('postgres://h/d?sslmode=verify-full&sslrootcert=/a&sslcert=/b&sslkey=/c')
    .servers[0];
  t.same(tls, { mode: 'verify-full', ca: '/a', cert: '/b', key: '/c' });
});

t.test('what cannot be fulfilled is refused by its parameter, without a secret', async (t) => {
  const unsupported = [
    ...['hostaddr', 'fallback_application_name', 'keepalives', 'keepalives_idle', 'connect_timeout'],
    ...['sslnegotiation', 'sslsni', 'sslcertmode', 'sslpassword', 'sslcrl', 'sslcompression', 'ssl'],
    ...['ssl_min_protocol_version', 'ssl_max_protocol_version', 'min_protocol_version', 'require_auth'],
    ...['max_protocol_version', 'channel_binding', 'gssencmode', 'krbsrvname', 'requirepeer', 'service'],
    ...['passfile', 'client_encoding', 'load_balance_hosts', 'replication', 'tcp_user_timeout'],
    ...['constructor', 'toString', '__proto__'],
  ];
  const rows: [rest: string, named: RegExp][] = [
    ...unsupported.map((name): [string, RegExp] => [
      `h/d?${name}=1`,
      new RegExp(`the parameter ${name} is not supported: `),
    ]),
    ['h/d?channel_binding=require', /channel_binding .*sslmode=verify-full/],
    ['h/d?sslmode=allow', /sslmode must be disable or prefer/],
    ['h/d?sslmode=no-verify', /sslmode must be disable or/],
    ['h/d?sslmode=', /sslmode must be/],
    ['h/d?sslmode=verify-ca', /sslmode=verify-ca needs sslrootcert/],
    ['h/d?sslmode=verify-full&sslrootcert=system', /sslrootcert must be a file/],
    ['h/d?target_session_attrs=standby', /target_session_attrs/],
    ['a,b/d?target_session_attrs=prefer-standby', /target_session_attrs/],
    ['h/d?schema=s', /schema .*search_path/],
    ['h/d?currentSchema=s', /currentSchema .*search_path/],
    ['h/d?pgbouncer=true', /pgbouncer .*PostgreSQL itself/],
    ['h/d?statement_timeout=1', /statement_timeout .*options=/],
    ['h/d?application_name=a%00b', /application_name must not/],
    ['h/d?x', /no value/],
    ['h:0/d', /port/],
    ['h:65536/d', /port/],
    ['h:x/d', /port/],
    ['a,,b/d', /host is empty/],
    ['a:1,b:2,c:3/d?port=1,2', /port for each/],
    ['::1/d', /brackets/],
    ['[::1/d', /brackets/],
    ['[x]/d', /IPv6/],
    [`${'a,'.repeat(16)}a/d`, /more than 16/],
    ['h/%zz', /%25/],
  ];
  for (const [rest, named] of rows) {
    const url = `postgres://u:hunter2@${rest}`;
    try {
      serversOf(url);
      t.match('', named, url);
    } catch (error) {
      t.ok(error instanceof DatabaseUrlError, url);
      t.match((error as Error).message, named, url);
      t.notMatch((error as Error).message, /hunter2/, url);
    }
  }
  for (const raw of ['postgres://u:12?hunter2=x@h/d', 'postgres://u:12?hunter2=%zz@h/d'])
    t.throws(() => serversOf(raw), /^(?!.*hunter2)/);
  t.throws(() => serversOf('postgres://u:100%@h/d'), /the password has a %/);
  t.throws(() => serversOf('mysql://h/d'), /postgres:\/\//);
  t.throws(() => serversOf('postgres://u:a/b@h/d'), /in a password, write/);
});

t.test('the addresses of providers, as their documentation prints them', async (t) => {
  const neon =
    'postgresql://alex:AbC123dEf@ep-cool-darkness-a1b2.us-east-2.aws.neon.tech/dbname?sslmode=require';
  t.match(serversOf(neon).servers[0], { user: 'alex', database: 'dbname', tls: { mode: 'require' } });
  t.throws(() => serversOf(`${neon}&channel_binding=require`), /channel_binding/);
  t.match(serversOf(`${neon}&options=endpoint%3Dep-cool-darkness-a1b2`).servers[0].session, {
    options: 'endpoint=ep-cool-darkness-a1b2',
  });
  const supabase =
    'postgres://postgres.apbkob:[YOUR-PASSWORD]@aws-0-us-east-1.pooler.supabase.com:5432/postgres';
  t.match(serversOf(supabase).servers[0], {
    host: 'aws-0-us-east-1.pooler.supabase.com',
    user: 'postgres.apbkob',
    password: '[YOUR-PASSWORD]',
    tls: { mode: 'prefer' },
  });
  const rds =
    'postgresql://me:secret@mydb.123456.us-east-1.rds.amazonaws.com:5432/db?sslmode=verify-full&sslrootcert=/certs/global-bundle.pem';
  t.match(serversOf(rds).servers[0].tls, { mode: 'verify-full', ca: '/certs/global-bundle.pem' });
  const azure =
    'postgres://myadmin%40mydemoserver:secret@mydemoserver.postgres.database.azure.com:5432/postgres?sslmode=require';
  t.match(serversOf(azure).servers[0], { user: 'myadmin@mydemoserver', tls: { mode: 'require' } });
  const cloudSql = 'postgresql://user:secret@/db?host=/cloudsql/project:region:instance';
  t.match(serversOf(cloudSql).servers[0], { path: '/cloudsql/project:region:instance/.s.PGSQL.5432' });
});

t.test('variables of libpq complete the URL, or are reported', async (t) => {
  const serverOf = (env: Record<string, string>) =>
    serversOf(readSettings({ DATABASE_URL: 'postgres://h/d', ...env }).databaseUrl!).servers[0];
  t.equal(serverOf({ PGSSLMODE: 'verify-full' }).tls.mode, 'verify-full');
  t.equal(serverOf({ PGSSLMODE: 'require', PGSSLROOTCERT: '/ca' }).tls.mode, 'verify-ca');
  t.match(serverOf({ PGUSER: 'u', PGPASSWORD: 'p ä&=?', PGPORT: '7' }), {
    user: 'u',
    password: 'p ä&=?',
    port: 7,
  });
  t.match(serverOf({ PGHOST: 'x', PGDATABASE: 'x' }), { host: 'h', database: 'd' }, 'the URL prevails');
  t.match(serverOf({ DATABASE_URL: 'postgres://', PGHOST: '/run', PGDATABASE: 'x' }), {
    path: '/run/.s.PGSQL.5432',
    database: 'x',
  });
  t.match(serverOf({ PGAPPNAME: 'a', PGOPTIONS: '-c search_path=s' }).session, { application_name: 'a' });
  const withReplica = {
    DATABASE_URL: 'postgres://h/d',
    DATABASE_READ_URL: 'postgres://r/d',
    PGTARGETSESSIONATTRS: 'primary',
    PGSSLMODE: 'require',
  };
  const config = readSettings(withReplica);
  const { databaseReadUrl } = REPLICA_SETTINGS.of(config);
  t.equal(serversOf(config.databaseUrl!).requiresPrimary, true);
  t.match(serversOf(databaseReadUrl!), { requiresPrimary: false, servers: [{ tls: { mode: 'require' } }] });
  for (const [name, value] of [
    ['PGSSLMODE', 'on'],
    ['PGTARGETSESSIONATTRS', 'standby'],
  ] as const)
    t.throws(
      () => serverOf({ [name]: value }),
      new RegExp(`DATABASE_URL must be .*: ${name}: the parameter`),
      name,
    );
  for (const name of [
    ...['PGHOSTADDR', 'PGSERVICE', 'PGSERVICEFILE', 'PGPASSFILE', 'PGCHANNELBINDING', 'PGGSSENCMODE'],
    ...['PGREQUIRESSL', 'PGREQUIREAUTH', 'PGREQUIREPEER', 'PGSSLCRL', 'PGSSLCRLDIR', 'PGSSLNEGOTIATION'],
    ...['PGSSLSNI', 'PGSSLCERTMODE', 'PGSSLMINPROTOCOLVERSION', 'PGMINPROTOCOLVERSION'],
  ])
    t.throws(() => serverOf({ [name]: '1' }), new RegExp(`the variable ${name} is not supported`), name);
  t.same(
    warningsOf({ DATABASE_URL: 'postgres://h/d', PGTZ: 'UTC', PGDATA: '/data', PGSSLMODE: 'require' }),
    [],
  );
});
