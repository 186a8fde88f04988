import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { join } from 'node:path';
import tls from 'node:tls';
import { readAuthRequest } from '../../../src/http/client-identity.js';
import { readTls } from '../../../src/process/tls.js';
import { type Authority, authority, type Pair, withoutOpenssl } from '../../support/certificates.js';
import { makeKey } from '../../support/credentials.js';
import { startProcess } from '../../support/process.js';
import { send as sendTo, testDatabase, testService } from '../../support/service.js';
import t from '../../support/test.js';
import { some } from '../../support/thorough.js';
import { until } from '../../support/until.js';

const options = { skip: withoutOpenssl };

/** The authority and the server's certificate of most tests, which therefore use one service. */
let shared: { readonly ca: Authority; readonly server: Pair } | undefined;

const makeShared = () => {
  const ca = authority(t);
  return { ca, server: ca.sign('server') };
};

/** An authority, a server's certificate, and the settings for them. */
function settingsOf(auth = 'mtls') {
  shared ??= makeShared();
  const { ca, server } = shared;
  const env = {
    AUTH: auth,
    AUTH_FAILURES: '0',
    TLS_CERT: server.certFile,
    TLS_KEY: server.keyFile,
    TLS_CLIENT_CA: ca.certFile,
  };
  return { ca, server, env };
}

const NO_PROXY = { trustProxy: undefined, proxyHeaders: 'x-forwarded' } as const;

const as = ({ cert: ca }: Authority, pair?: Pair) => ({
  tls: { ca, ...(pair ? { cert: pair.cert, key: pair.key } : {}) },
});

/** Opens an encrypted connection. */
async function open(url: string, more: tls.ConnectionOptions): Promise<tls.TLSSocket> {
  const { hostname, port } = new URL(url);
  const socket = tls.connect({ host: hostname, port: Number(port), ...more });
  await once(socket, 'secureConnect');
  return socket;
}

async function plain(url: string): Promise<net.Socket> {
  const { hostname, port } = new URL(url);
  const socket = net.connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

async function textOf(socket: net.Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  await once(socket, 'close');
  return text;
}

t.test('a registered certificate of a known authority stands for its principal', options, async (t) => {
  const { ca, env } = settingsOf();
  const { url, db, send } = await testService(t, env);
  const [alice, unknown] = [ca.sign('alice'), ca.sign('unknown')];
  const foreign = authority(t, 'foreign').sign('mallory');
  t.match(url, /^https:\/\/127\.0\.0\.1:\d+$/);
  await makeKey(db, { subject: 'alice', scopes: ['self'], certificate: alice.cert });
  await makeKey(db, { subject: 'mallory', certificate: foreign.cert });
  t.match(await send('GET', '/whoami', as(ca, alice)), {
    status: 200,
    json: {
      subject: 'alice',
      scopes: ['self'],
      scheme: 'mtls',
      // The registration has no end, the certificate has.
      expires_at: new Date(new X509Certificate(alice.cert).validTo).toISOString(),
    },
  });
  for (const [name, pair] of [
    ['nobody', undefined],
    ['a certificate that is not registered', unknown],
    ['one of another authority, though registered', foreign],
  ] as const) {
    const response = await send('GET', '/whoami', as(ca, pair));
    t.equal(response.status, 401, name);
    t.equal(response.headers['www-authenticate'], 'ClientCertificate realm="plinth"');
  }
});

t.test('certificates are registered over HTTP, and refused at once when revoked', options, async (t) => {
  const { ca, env } = settingsOf('api-key,mtls');
  const { url, db, send } = await testService(t, env);
  const [alice, bob] = [ca.sign('alice'), ca.sign('bob')];
  await makeKey(db, { subject: 'alice', certificate: alice.cert });
  const admin = as(ca, alice);
  const body = { label: 'l', subject: 'bob', scopes: ['self'], certificate: `bob's\n${bob.cert}` };
  const made = await send('POST', '/keys', { ...admin, body });
  const thumbprint = Buffer.from(
    new X509Certificate(bob.cert).fingerprint256.replaceAll(':', ''),
    'hex',
  ).toString('base64url');
  t.match(made, { status: 201, json: { kind: 'certificate', subject: 'bob', thumbprint } });
  t.notOk('key' in made.json);
  t.match(await send('POST', '/keys', { ...admin, body }), {
    status: 409,
    json: { error: { code: 'CERTIFICATE_TAKEN' } },
  });
  const two = { ...body, certificate: alice.cert + bob.cert };
  t.equal((await send('POST', '/keys', { ...admin, body: two })).status, 400);

  const agent = new https.Agent({ keepAlive: true, maxSockets: 1, ...as(ca, bob).tls });
  t.teardown(() => agent.destroy());
  const statusOf = async () => {
    const [response] = (await once(https.get(`${url}/whoami`, { agent }), 'response')) as [IncomingMessage];
    await once(response.resume(), 'end');
    return response.statusCode;
  };
  t.equal(await statusOf(), 200);
  t.equal((await send('DELETE', `/keys/${made.json.id}`, admin)).status, 204);
  t.equal(await statusOf(), 401, 'on the same connection');
});

t.test('a certificate that ends while its connection lasts is none any more', async (t) => {
  const at = (validTo: string) => ({
    encrypted: true,
    authorized: true,
    remoteAddress: '127.0.0.1',
    getPeerX509Certificate: () => ({ fingerprint256: '00:FF', validTo }),
  });
  const certificateAt = (validTo: string) =>
    readAuthRequest({ socket: at(validTo), headers: {} } as never, async () => Buffer.alloc(0), NO_PROXY)
      .certificate;
  t.equal(certificateAt('Nov 21 13:00:24 2999 GMT'), 'AP8');
  t.equal(certificateAt('Nov 21 13:00:24 2020 GMT'), undefined);
});

t.test('it speaks TLS 1.2 and 1.3 with HTTP/1.1, and nothing else', options, async (t) => {
  const { ca, env } = settingsOf();
  const { url, send } = await testService(t, env);
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const more = { ca: ca.cert, minVersion: version, maxVersion: version };
    const socket = await open(url, { ...more, ALPNProtocols: ['h2', 'http/1.1'] });
    t.same([socket.getProtocol(), socket.alpnProtocol], [version, 'http/1.1']);
    socket.destroy();
  }
  const old = { ca: ca.cert, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' } as const;
  await t.rejects(open(url, old), 'TLS 1.1');
  await t.rejects(open(url, { ca: ca.cert, ALPNProtocols: ['h2'] }), 'h2 alone');
  const socket = await plain(url);
  socket.write('GET /whoami HTTP/1.1\r\nHost: a\r\n\r\n');
  t.match(await textOf(socket), /^HTTP\/1\.1 400 .*This port speaks HTTPS/s, 'unencrypted');
  const again = await open(url, { ca: ca.cert, maxVersion: 'TLSv1.2' });
  const refused = await new Promise((resolve) => {
    again.on('error', resolve);
    again.renegotiate({}, resolve);
  });
  t.match(refused, { code: 'ERR_SSL_NO_RENEGOTIATION' });
  again.destroy();
  t.equal((await send('GET', '/whoami', as(ca))).status, 401, 'it goes on');
});

t.test('what it does for a connection it does for an encrypted one', options, async (t) => {
  const { ca, env } = settingsOf();
  const { url, send } = await testService(t, env);
  const talk = async (bytes: string, ends: boolean) => {
    const socket = await open(url, { ca: ca.cert });
    const received = textOf(socket);
    if (ends) socket.end(bytes);
    else socket.write(bytes);
    return [...(await received).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  };
  const get = 'GET /whoami HTTP/1.1\r\nHost: a\r\n\r\n';
  t.same(await talk(get + get, true), ['401', '401'], 'both responses, though the client has ended its half');
  t.same(await talk('nonsense\r\n\r\n', false), ['400'], 'malformed');
  t.same(await talk(`${get}CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n`, false), ['401', '405'], 'in turn');
  const garbage = await plain(url);
  garbage.write('\x16\x03\x01\x00\x05nonsense');
  await textOf(garbage);
  const broken = await open(url, { ca: ca.cert });
  broken.on('error', () => undefined);
  broken.destroy();
  t.equal((await send('GET', '/nowhere', as(ca))).status, 404, 'it goes on');
});

t.test('a handshake that does not come is not waited for', options, async (t) => {
  const { env } = settingsOf();
  const { url } = await testService(t, env, { headersTimeoutMs: 200 });
  const silent = await plain(url);
  const half = await plain(url);
  half.write('\x16\x03\x01');
  t.same(await Promise.all([silent, half].map(textOf)), ['', '']);
});

t.test('a client that goes in the midst of its handshake leaves nothing behind', options, async (t) => {
  const { ca, env } = settingsOf();
  const { url, stop } = await testService(
    t,
    { ...env, SHUTDOWN_MS: '600000' },
    { headersTimeoutMs: 600_000 },
  );
  for (let round = 0; round < 10; round++) {
    const half = await plain(url);
    half.end('\x16\x03\x01');
    (await open(url, { ca: ca.cert })).destroy();
  }
  await stop();
  t.pass('nothing is waited for');
});

t.test('it stops with connections at every stage', options, async (t) => {
  const { ca, env } = settingsOf();
  const { url, stop } = await testService(t, { ...env, SHUTDOWN_MS: '300' });
  const silent = await plain(url);
  const half = await plain(url);
  half.write('\x16\x03\x01');
  const unused = await open(url, { ca: ca.cert });
  const idle = await open(url, { ca: ca.cert });
  idle.write('GET /whoami HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(idle, 'data');
  const closed = [silent, half, unused, idle].map((socket) => once(socket.resume(), 'close'));
  await stop();
  await Promise.all(closed);
});

/** A request whose body is still to come. */
function begin(url: string, tlsOptions: https.RequestOptions) {
  const agent = new https.Agent({ keepAlive: true });
  const body = '{}';
  const request = https.request(`${url}/batch`, {
    ...tlsOptions,
    agent,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': body.length, expect: '100-continue' },
  });
  request.flushHeaders();
  return {
    accepted: once(request, 'continue'),
    end: async () => {
      request.end(body);
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      await once(response.resume(), 'end');
      agent.destroy();
      return response.statusCode;
    },
  };
}

const serialOf = async (url: string, ca: string) => {
  const socket = await open(url, { ca });
  const serial = socket.getPeerX509Certificate()!.serialNumber;
  socket.destroy();
  return serial;
};

t.test('SIGHUP gives new connections a new certificate, and drops none that is there', options, async (t) => {
  const { ca, server, env } = settingsOf();
  const folder = t.testdir({ files: {} });
  const [TLS_CERT, TLS_KEY] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const install = (pair: Pair) => {
    copyFileSync(pair.certFile, TLS_CERT);
    copyFileSync(pair.keyFile, TLS_KEY);
  };
  install(server);
  const DATABASE_URL = await testDatabase(t);
  const alice = ca.sign('alice');
  const { db } = await testService(t, { DATABASE_URL });
  await makeKey(db, { certificate: alice.cert });
  const service = startProcess(t, { ...env, TLS_CERT, TLS_KEY, DATABASE_URL });
  const url = await service.ready();
  const before = await serialOf(url, ca.cert);
  const busy = begin(url, as(ca, alice).tls);
  await busy.accepted;

  writeFileSync(TLS_KEY, 'no key');
  service.child.kill('SIGHUP');
  await until(
    'the error is logged',
    () => service.stdout(),
    (seen) => /the certificates cannot be read again/.test(seen),
  );
  t.match(service.stdout(), /TLS_CERT \S+ and TLS_KEY \S+ cannot be used/);
  t.equal(await serialOf(url, ca.cert), before, 'bad files: the old ones stay');

  install(ca.sign('renewed'));
  service.child.kill('SIGHUP');
  await until(
    'the new one is shown',
    () => serialOf(url, ca.cert),
    (seen) => seen !== before,
  );
  t.equal(await busy.end(), 400, 'the request in flight gets a response');
  t.equal((await sendTo(url, 'GET', '/whoami', as(ca, alice))).status, 200);
  service.child.kill('SIGTERM');
  t.equal(await service.ended, 0);
});

t.test('a session is not resumed with an authority that is no longer believed', options, async (t) => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const { ca, env } = settingsOf();
    const TLS_CLIENT_CA = join(t.testdir({ files: {} }), 'clients.pem');
    copyFileSync(ca.certFile, TLS_CLIENT_CA);
    const { url, db, reload } = await testService(t, { ...env, TLS_CLIENT_CA });
    const alice = ca.sign('alice');
    await makeKey(db, { certificate: alice.cert });
    const ask = async (session?: Buffer) => {
      const socket = await open(url, { ...as(ca, alice).tls, maxVersion, ...(session ? { session } : {}) });
      const resumed = socket.isSessionReused();
      let ticket: Buffer | undefined = socket.getSession();
      socket.on('session', (given) => {
        ticket = given;
      });
      socket.write('GET /whoami HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
      const [, status] = /HTTP\/1\.1 (\d+)/.exec(await textOf(socket)) ?? [];
      return { status, ticket, resumed };
    };
    const first = await ask();
    t.equal(first.status, '200', maxVersion);
    t.match(await ask(first.ticket), { status: '200', resumed: true });
    copyFileSync(authority(t, 'other').certFile, TLS_CLIENT_CA);
    reload();
    t.match(await ask(first.ticket), { status: '401', resumed: false });
  }
});

t.test('files that cannot be used end the start with one line', options, async (t) => {
  const { ca, server } = settingsOf();
  const files = t.testdir({
    empty: '',
    bad: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
  });
  const valid = { TLS_CERT: server.certFile, TLS_KEY: server.keyFile, TLS_CLIENT_CA: ca.certFile };
  const cases: [Record<string, string>, RegExp][] = [
    [{ TLS_CERT: join(files, 'not') }, /^plinth: TLS_CERT \S+ cannot be read: ENOENT[^\n]*\n$/],
    [{ TLS_KEY: join(files, 'not') }, /^plinth: TLS_KEY \S+ cannot be read: ENOENT[^\n]*\n$/],
    [{ TLS_CLIENT_CA: files }, /^plinth: TLS_CLIENT_CA \S+ cannot be read: EISDIR[^\n]*\n$/],
    [{ TLS_CLIENT_CA: join(files, 'empty') }, /^plinth: TLS_CLIENT_CA \S+ holds no certificate in PEM\n$/],
    [{ TLS_CERT: join(files, 'bad') }, /^plinth: TLS_CERT \S+ holds an invalid certificate: [^\n]+\n$/],
    [{ TLS_KEY: join(files, 'empty') }, /^plinth: TLS_CERT \S+ and TLS_KEY \S+ cannot be used: [^\n]+\n$/],
    [{ TLS_KEY: ca.keyFile }, /^plinth: TLS_CERT \S+ and TLS_KEY \S+ cannot be used: [^\n]+mismatch\n$/],
  ];
  for (const [env, message] of some(cases, 1)) {
    const service = startProcess(t, { ...valid, ...env, DATABASE_URL: 'postgres://a@127.0.0.1:1/d' });
    t.equal(await service.ended, 1);
    t.match(service.stderr(), message);
  }
  t.equal(readTls({ tlsCert: undefined, tlsKey: undefined, tlsClientCa: undefined }), undefined);
});

t.test('without TLS, SIGHUP changes nothing', async (t) => {
  const service = startProcess(t, { DATABASE_URL: await testDatabase(t) });
  const url = await service.ready();
  service.child.kill('SIGHUP');
  t.equal((await sendTo(url, 'GET', '/users')).status, 200);
  service.child.kill('SIGTERM');
  t.equal(await service.ended, 0);
  t.equal(service.stderr(), '');
});

t.test('without authorities for clients, TLS asks for no certificate', options, async (t) => {
  const { ca, env } = settingsOf();
  const { send } = await testService(t, { TLS_CERT: env.TLS_CERT, TLS_KEY: env.TLS_KEY });
  t.equal((await send('GET', '/users', as(ca))).status, 200);
});
