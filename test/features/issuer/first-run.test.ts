import { claimPort } from '../../support/claimed-port.js';
import { plinth, startPlinth } from '../../support/command.js';
import { byToken, makeKey, PASSWORD } from '../../support/credentials.js';
import { migratedFolder } from '../../support/migrated-folder.js';
import { send, testService } from '../../support/service.js';
import t from '../../support/test.js';
import { notInDefault } from '../../support/thorough.js';
import { until, untilLength } from '../../support/until.js';
import { words } from '../../support/words.js';
import { authorizationServer, signIn } from './authorization-server.js';
import { Visitor } from './visitor.js';

t.test('from nothing to a request on the embedded database', { skip: notInDefault }, async (t) => {
  const port = String(await claimPort(t));
  const env = { DATA_DIR: await migratedFolder(t), PORT: port };
  const service = startPlinth(t, [], { ...env, AUTH: 'bearer', AUTH_SERVER: 'on' });
  const url = await service.ready();
  t.match(service.stdout(), /plinth users create/);
  t.match(service.stdout(), /plinth clients create/);
  t.notMatch(service.stderr(), /runtime/, 'oidc-provider says nothing about the version of Node');

  const run = (command: string, more: Record<string, string> = {}, input = '') =>
    plinth(t, words(command), { ...env, ...more }, { input });
  const user = await run('users create ann@example.org --name Ann --scopes items:write', {}, `${PASSWORD}\n`);
  t.match(user, { code: 0, out: /^id: {2}\S{36}\n$/ }, user.err);
  const made = await run(
    'clients create --name terminal --redirect http://127.0.0.1/callback --scopes openid,self,items:write',
  );
  const [, client = ''] = /^id: {6}(\S+)\n$/.exec(made.out) ?? [];
  t.match(client, /^\S{36}$/, made.err);

  const login = startPlinth(t, ['login', '--client', client, '--scope', 'openid items:write'], env);
  const address = await until(
    'it prints where to sign in',
    () => /^Open in a browser: (\S+)$/m.exec(login.stderr())?.[1],
  );
  const visitor = new Visitor(url);
  let page = await visitor.open(address);
  page = await visitor.enter(page, { email: 'ann@example.org' });
  page = await visitor.submit(page, { action: 'allow' });
  await fetch(page.url);
  t.equal(await login.ended, 0);
  const authorization = `Bearer ${login.stdout().trim()}`;
  const created = await send(url, 'POST', '/items', { headers: { authorization }, body: { name: 'lamp' } });
  t.equal(created.status, 201);

  const job = await run('clients create --name job --confidential --scopes items:read');
  const [, id = '', secret = ''] = /^id: {6}(\S+)\nsecret: {2}(\S+)\n$/.exec(job.out) ?? [];
  const folder = t.testdir({ 'secret.txt': `${secret}\n`, 'wrong.txt': 'wrong' });
  const token = await run(`login --client ${id} --scope items:read --secret-file ${folder}/secret.txt`);
  t.equal(token.code, 0, token.err);
  const headers = { authorization: `Bearer ${token.out.trim()}` };
  t.equal((await send(url, 'GET', '/items', { headers })).status, 200);
  const wrong = await run(`login --client ${id} --secret-file ${folder}/wrong.txt`);
  t.match(wrong, { code: 1, err: /^plinth: invalid_client/ });

  const rotated = await run('issuer rotate-keys --delay 0');
  t.match(rotated, { code: 0, out: /^ES256: {2}\S+\nRS256: {2}\S+\n$/ });
  t.equal((await send(url, 'GET', '/items', { headers })).status, 200, 'a token of the former key is valid');
  await untilLength('the new key signs', async () => (await send(url, 'GET', '/jwks')).json.keys, 4);
  service.child.kill('SIGTERM');
  await service.ended;
});

t.test('users and clients on the command line: what is wrong is one line', async (t) => {
  const { databaseUrl: DATABASE_URL } = await testService(t);
  const env = { DATABASE_URL };
  const rows: [command: string, code: number, err: RegExp, input?: string][] = [
    ['users', 64, /needs a subcommand/],
    ['users create a@example.org', 64, /needs --name/],
    ['users create a@example.org --name A', 1, /\/password must have at least/, 'short\n'],
    ['users set-password no@example.org', 1, /there is no user no@example\.org/, `${PASSWORD}\n`],
    ['users set-scopes a@example.org --scopes item:read', 64, /`item:read` is not a scope/],
    ['clients', 64, /needs a subcommand/],
    ['clients create --name x', 1, /\/type must be confidential for client_credentials/],
    ['clients create --name x --redirect http://example.org/', 1, /\/redirect_uris\/0 must be https/],
    ['clients delete none', 1, /there is no client none/],
    ['login', 64, /login needs --client/],
    ['login --client x --secret-file none.txt', 64, /none\.txt cannot be read/],
    ['login --client x --service http://127.0.0.1:1', 69, /the authorization server cannot be used: /],
    ['issuer', 64, /needs a subcommand: rotate-keys/],
  ];
  for (const [command, code, err, input = ''] of rows)
    t.match(await plinth(t, words(command), env, { input }), { code, err }, command);
});

t.test('clients are managed over HTTP too', async (t) => {
  const server = await authorizationServer(t, { AUTH: 'bearer, api-key' });
  const { service } = server;
  const { key } = await makeKey(service.db);
  const headers = { 'x-api-key': key };
  const body = {
    name: 'Web',
    type: 'confidential',
    grant_types: ['authorization_code'],
    redirect_uris: ['https://app.example.org/callback'],
    scopes: ['openid', 'self'],
  };
  const made = await service.send('POST', '/api/v1/oauth-clients', { headers, body });
  t.match(made, {
    status: 201,
    headers: { etag: '"1"', 'cache-control': 'no-store' },
    json: { ...body, _version: 1 },
  });
  t.match(made.json.secret, /^[\w-]{43}$/);
  const path = made.headers.location!;
  t.equal(path, `/oauth-clients/${made.json.id}`);
  const { secret: _, ...shown } = made.json;
  t.same((await service.send('GET', path, { headers })).json, shown);
  t.match((await service.send('GET', '/oauth-clients', { headers })).json, {
    data: [{ id: made.json.id }],
    links: { next: null },
  });
  for (const address of [path, '/oauth-clients']) {
    const tag = String((await service.send('GET', address, { headers })).headers.etag);
    const conditional = (fields: Record<string, string>) =>
      service.send('GET', address, { headers: { ...headers, ...fields } });
    t.equal((await conditional({ 'if-none-match': tag })).status, 304, address);
    t.equal((await conditional({ 'if-match': '"none"' })).status, 412, address);
  }
  const scoped = { headers: { ...headers, 'if-match': '"7"' } };
  t.equal((await service.send('DELETE', path, scoped)).status, 412);
  for (const [change, at] of [
    [{ name: '' }, '/name'],
    [{ type: 'secret' }, '/type'],
    [{ grant_types: ['password'] }, '/grant_types/0'],
    [{ redirect_uris: ['https://app.example.org/#x'] }, '/redirect_uris/0'],
    [{ redirect_uris: [] }, '/redirect_uris'],
    [{ scopes: ['item:read'] }, '/scopes/0'],
    [{ colour: 'red' }, '/colour'],
  ] as const) {
    const given = { headers, body: { ...body, ...change } };
    const { status, json } = await service.send('POST', '/oauth-clients', given);
    t.same([status, json.errors?.[0]?.path], [400, at], JSON.stringify(change));
  }
  const { config } = await server.register();
  const tokens = await signIn(server, config);
  const user = byToken(tokens.access_token);
  t.equal((await service.send('GET', '/oauth-clients', { headers: user })).status, 403);
  t.equal((await service.send('DELETE', path, { headers })).status, 204);
  t.equal((await service.send('GET', path, { headers })).status, 404);
});
