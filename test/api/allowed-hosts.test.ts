import { send, testService } from '../support/service.js';
import t from '../support/test.js';
import { words } from '../support/words.js';

const get = (path: string, host: string | undefined, version = '1.1') =>
  `GET ${path} HTTP/${version}\r\n${host === undefined ? '' : `Host: ${host}\r\n`}Connection: close\r\n\r\n`;

const statusOf = (response: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(response)?.[1]);

t.test('without AUTH a request names a host of this machine, or is 421', async (t) => {
  const { raw, url, send } = await testService(t, { ALLOWED_HOSTS: '' });
  const { port } = new URL(url);
  const accepted = words(`
    localhost LOCALHOST localhost. localhost:${port} 127.0.0.1 127.1 127.8.9.10:1 [::1] [::1]:${port}
    [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1]
  `);
  for (const host of accepted) t.equal(statusOf(await raw(get('/items', host))), 200, host);
  const rejected = words(`
    evil.example evil.example:${port} localhost.evil.example evil.localhost 127.0.0.1.evil.example 0.0.0.0
    192.0.2.1 [2001:db8::1] localhost.. .
  `);
  for (const host of rejected) {
    const response = await raw(get('/items', host));
    t.equal(statusOf(response), 421, host);
    t.match(response, /"code":"MISDIRECTED_REQUEST"/);
    t.match(response, /cache-control: no-store/i);
    t.notMatch(response, /evil/, 'the name is not repeated');
  }
  const body = { email: 'a@example.org', name: 'A' };
  for (const [method, path] of [
    ['POST', '/users'],
    ['OPTIONS', '/users'],
    ['OPTIONS', '*'],
    ['GET', '/whoami'],
    ['GET', '/metrics'],
    ['GET', '/nothing'],
    ['GET', '/api/v1/webhooks'],
  ] as const) {
    const headers = { host: 'evil.example' };
    const { status } = await send(method, path, { headers, ...(method === 'POST' ? { body } : {}) });
    t.equal(status, 421, `${method} ${path}`);
  }
  t.same((await send('GET', '/users')).json, []);
});

t.test('an absolute-form target names an allowed host as well', async (t) => {
  const { raw } = await testService(t, { ALLOWED_HOSTS: '' });
  t.equal(statusOf(await raw(get('http://localhost/items', 'localhost'))), 200);
  t.equal(statusOf(await raw(get('http://evil.example/items', 'localhost'))), 421);
  t.equal(statusOf(await raw(get('http://localhost/items', 'evil.example'))), 421);
});

t.test('health checks by any address, and HTTP/1.0 without Host, pass', async (t) => {
  const { raw } = await testService(t, { ALLOWED_HOSTS: '' });
  for (const path of ['/healthz', '/readyz', '/api/v1/healthz', '/healthz?_=1'])
    t.equal(statusOf(await raw(get(path, '10.1.2.3:3000'))), 200, path);
  t.equal(statusOf(await raw(get('/healthzz', '10.1.2.3:3000'))), 421);
  t.equal(statusOf(await raw(get('/items', undefined, '1.0'))), 200);
});

t.test('the operator lists further names; those of HOST and PUBLIC_URL are listed', async (t) => {
  const { raw } = await testService(t, {
    ALLOWED_HOSTS: 'api.example.org, 192.0.2.7 2001:db8::7',
    PUBLIC_URL: 'https://Public.example.org:8443',
    HOST: '0.0.0.0',
    AUTH: 'none',
  });
  for (const host of words(`
    api.example.org API.example.org:80 api.example.org. 192.0.2.7 [2001:db8:0::7]:3000 public.example.org 0.0.0.0
  `))
    t.equal(statusOf(await raw(get('/items', host))), 200, host);
  t.equal(statusOf(await raw(get('/items', 'www.api.example.org'))), 421);
});

t.test('with AUTH any Host is accepted', async (t) => {
  const { raw } = await testService(t, { ALLOWED_HOSTS: '', AUTH: 'api-key' });
  t.equal(statusOf(await raw(get('/items', 'evil.example'))), 401);
});

t.test('a metrics listener on loopback rejects other names', async (t) => {
  const { metricsUrl } = await testService(t, { METRICS_PORT: '0', ALLOWED_HOSTS: 'metrics.internal' });
  const scrape = async (host: string) =>
    (await send(metricsUrl!, 'GET', '/metrics', { headers: { host } })).status;
  t.equal(await scrape('localhost:9464'), 200);
  t.equal(await scrape('metrics.internal'), 200);
  t.equal(await scrape('evil.example'), 421);
});
