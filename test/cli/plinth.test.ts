import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isKey } from '../../src/auth/credentials/api-key-format.js';
import { plinth } from '../support/command.js';
import { dataFolder, serverPid, until } from '../support/process.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';

t.jobs = 3;

const CREATE = ['keys', 'create', '--label', 'ci', '--subject', 'bob', '--scopes', 'items:read,self'];

function madeOf(out: string): { id: string; key: string } {
  const [, id = '', key = ''] = /^id: {3}(\S+)\nkey: {2}(\S+)\n$/.exec(out) ?? [];
  return { id, key };
}

t.test('a key is made, listed and revoked while a service uses the database', async (t) => {
  const service = await testService(t, { AUTH: 'api-key', AUTH_FAILURES: '0' });
  const env = { DATABASE_URL: service.databaseUrl };
  const begun = Date.now();
  const made = await plinth(t, [...CREATE, '--expires', '90d'], env);
  const ended = Date.now();
  t.same([made.code, made.err], [0, '']);
  const { id, key } = madeOf(made.out);
  t.ok(isKey(key));
  const response = await service.send('GET', '/whoami', { headers: { 'x-api-key': key } });
  t.match(response, { status: 200, json: { subject: 'bob', scopes: ['items:read', 'self'] } });
  const madeAt = Date.parse(response.json.expires_at) - 90 * 86_400_000;
  t.ok(madeAt >= begun - 1 && madeAt <= ended + 1, `${begun} to ${ended}: ${madeAt}`);

  const second = madeOf((await plinth(t, CREATE, env)).out);
  const list = await plinth(t, ['keys', 'list'], env);
  const lines = list.out.trim().split('\n');
  t.match(
    lines.map((line) => JSON.parse(line)),
    [
      { id: second.id, expires_at: null },
      { id, label: 'ci', subject: 'bob' },
    ],
  );
  t.notMatch(list.out, /plinth_/);

  t.same(await plinth(t, ['keys', 'revoke', id], env), { code: 0, out: '', err: '' });
  await until('the service refuses it', async () => {
    const { status } = await service.send('GET', '/whoami', { headers: { 'x-api-key': key } });
    return status === 401;
  });
  t.match(await plinth(t, ['keys', 'revoke', id], env), { code: 1, err: `plinth: there is no key ${id}\n` });
});

t.test('wrong usage ends it with 64, bad configuration with 78, nothing started', async (t) => {
  const folder = await dataFolder(t);
  const env = { DATA_DIR: join(folder, 'data') };
  const wrong: [string[], RegExp][] = [
    [
      ['dance'],
      /^plinth: there is no command dance\nusage: plinth \[COMMAND\] .*\nplinth --help lists the commands\.\n$/,
    ],
    [['start', 'now'], /^plinth: there is no argument now: settings are environment variables\nusage: /],
    [['--port', '4999'], /^plinth: there is no option --port: set PORT in the environment\nusage: /],
    [
      ['start', '--speed=9'],
      /^plinth: there is no option --speed=9: settings are environment variables\nusage: /,
    ],
    [['keys'], /^plinth: keys needs a subcommand: create, list or revoke\nusage: /],
    [
      ['keys', 'dance'],
      /^plinth: there is no command keys dance: there are create, list and revoke\nusage: /,
    ],
    [['keys', 'create'], /^plinth: keys create needs --label, --subject and --scopes\nusage: /],
    [
      [...CREATE, '--expires', 'soon'],
      /^plinth: --expires must be a time in the future, in the format of RFC 3339\nusage: /,
    ],
    [[...CREATE, '--expires', '2020-01-01T00:00:00Z'], /^plinth: --expires must be a time in the future/],
    [[...CREATE, '--expires', '0d'], /^plinth: --expires must be a time in the future/],
    [[...CREATE, '--colour', 'red'], /^plinth: Unknown option '--colour'/],
    [[...CREATE, '--scopes', ''], /^plinth: --scopes must/],
    [[...CREATE, '--label', ' '], /^plinth: --label must/],
    [['keys', 'list', 'all'], /^plinth: keys list has no arguments\nusage: /],
    [['webhooks'], /^plinth: webhooks needs a subcommand: listen\nusage: /],
    [['webhooks', 'listen', '--port', 'x'], /^plinth: --port must be an integer/],
    [
      ['keys', 'create', '--label', 'l', '--subject', 's', '--scopes', 'item:read'],
      /^plinth: --scopes `item:read` is not a scope: there are .*items:read.*\nusage: /,
    ],
    [['keys', 'revoke'], /^plinth: keys revoke needs ID, and no more\nusage: /],
    [['keys', 'revoke', 'x', 'y'], /^plinth: keys revoke needs ID, and no more\nusage: /],
    [['keys', 'revoke', 'x'], /^plinth: keys revoke needs the id of a key\nusage: /],
  ];
  for (const [args, message] of wrong) {
    const { code, out, err } = await plinth(t, args, env);
    t.same([code, out], [64, ''], args.join(' '));
    t.match(err, message);
  }
  const bad = await plinth(t, ['keys', 'list'], { ...env, PORT: '70000' });
  t.match(bad, { code: 78, out: '', err: /^plinth: PORT must be [^\n]+\n$/ });
  t.equal(serverPid(env.DATA_DIR), undefined);
});

t.test('what cannot be done is reported in one line', async (t) => {
  const file = join(t.testdir({ 'no.pem': 'nothing' }), 'no.pem');
  const env = { DATABASE_URL: 'postgres://u:secret@127.0.0.1:1/d' };
  const away = await plinth(t, ['keys', 'list'], env);
  t.match(away, { code: 69, err: /^plinth: the database cannot be reached: [^\n]+\n$/ });
  t.notMatch(away.err, /secret/);
  const none = await plinth(t, [...CREATE, '--certificate', `${file}.not`], env);
  t.match(none, { code: 64, err: /^plinth: \S+ cannot be read: [^\n]+\n$/ });
  const odd = await plinth(t, [...CREATE, '--certificate', file], env);
  t.match(odd, { code: 64, err: /^plinth: --certificate must be one certificate in PEM\n/ });
  writeFileSync(file, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
  t.equal((await plinth(t, [...CREATE, '--certificate', file], env)).code, 64);
});

t.test('each command has the version of the program', async (t) => {
  const version = { code: 0, out: /^plinth \d+\.\d+\.\d+\n$/, err: '' };
  for (const args of [['--version'], ['serve', '--version'], ['keys', '--version']])
    t.match(await plinth(t, args), version);
});
