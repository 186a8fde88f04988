import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { noBrowser, openPage } from '../../support/chromium.js';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';
import { words } from '../../support/words.js';

const folder = mkdtempSync(join(tmpdir(), 'plinth-site-'));
const outside = mkdtempSync(join(tmpdir(), 'plinth-outside-'));
t.teardown(() => [folder, outside].map((each) => rmSync(each, { recursive: true })));
const INDEX = '<!doctype html><title>The application</title><main></main><script src="/app.js"></script>';
const SCRIPT = `document.querySelector('main').textContent = 'at ' + location.pathname;\n`;
const BIG = Buffer.alloc(3_000_000, 'abcdefg');

mkdirSync(join(folder, 'img/deep'), { recursive: true });
mkdirSync(join(folder, '.git'));
for (const [name, content] of Object.entries({
  'index.html': INDEX,
  'app.js': SCRIPT,
  'style.css': 'main { color: red }',
  'img/logo.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  'img/deep/ünï code.png': 'PNG',
  Makefile: 'all:',
  'empty.txt': '',
  whoami: 'a file at a path of the service',
  '.env': 'SECRET=1',
  '.git/config': 'secret',
}))
  writeFileSync(join(folder, name), content);
writeFileSync(join(folder, 'big.wasm'), BIG);
writeFileSync(join(outside, 'secret.txt'), 'secret');
symlinkSync(join(outside, 'secret.txt'), join(folder, 'link.txt'));
symlinkSync(outside, join(folder, 'out'));
symlinkSync(join(folder, '.env'), join(folder, 'env.txt'));
symlinkSync(join(folder, 'app.js'), join(folder, 'inner.js'));

const start = (t: Parameters<typeof testService>[0], env = {}) => testService(t, { SITE: folder, ...env });
const HTML = 'text/html,application/xhtml+xml,*/*;q=0.8';

/** Paths with the status, the media type and the beginning of the body that browsers and programs get. */
type Row = readonly [path: string, accept: string, status: number, type: string, body: string];
const DATA = 'application/json';
const NOT_FOUND = '{"error":{"code":"NOT_FOUND","message":"There is no such resource';
const ROWS: readonly Row[] = [
  ['/', HTML, 200, 'text/html; charset=utf-8', '<!doctype html><title>The application'],
  ['/', '*/*', 200, DATA, '{"name":"Plinth"'],
  ['/?a=b', HTML, 200, 'text/html; charset=utf-8', '<!doctype html><title>The application'],
  ['/admin', HTML, 200, 'text/html; charset=utf-8', '<!doctype html>\n<html lang="en">'],
  ['/admin', '*/*', 200, DATA, '{"name":"Plinth"'],
  ['/app.js', '*/*', 200, 'text/javascript; charset=utf-8', SCRIPT],
  ['/app.js?v=1', HTML, 200, 'text/javascript; charset=utf-8', SCRIPT],
  ['/inner.js', '*/*', 200, 'text/javascript; charset=utf-8', SCRIPT],
  ['/style.css', 'text/css', 200, 'text/css; charset=utf-8', 'main'],
  ['/img/logo.svg', 'image/*', 200, 'image/svg+xml', '<svg'],
  ['/img/deep/%C3%BCn%C3%AF%20code.png', '*/*', 200, 'image/png', 'PNG'],
  ['/Makefile', '*/*', 200, 'application/octet-stream', 'all:'],
  ['/empty.txt', '*/*', 200, 'text/plain; charset=utf-8', ''],
  ['/index.html', '*/*', 200, 'text/html; charset=utf-8', INDEX],
  ['/projects/42/edit', HTML, 200, 'text/html; charset=utf-8', INDEX],
  ['/projects/', HTML, 200, 'text/html; charset=utf-8', INDEX],
  ['/img', HTML, 200, 'text/html; charset=utf-8', INDEX],
  ['/img', '*/*', 404, DATA, '{"error":{"code":"NOT_FOUND"'],
  ['/itemz', DATA, 404, DATA, `${NOT_FOUND}. Did you mean /items?`],
  ['/items', '*/*', 200, DATA, '{"data":[]'],
  ['/items', HTML, 200, 'text/html; charset=utf-8', '<!doctype html>\n<html lang="en">'],
  ['/whoami', '*/*', 200, DATA, '{"'],
  ...words(`
    /img/ /missing.js /api/v1/app.js /.env /%2eenv /.git/config /env.txt /link.txt /out/secret.txt
    /app.js/ /app.js/x /img//logo.svg /img%5clogo.svg /app.js%00 /${'x'.repeat(3000)}
  `).map((path): Row => [path, '*/*', 404, DATA, '{"error"']),
  ['/%ff', '*/*', 400, DATA, '{"error"'],
];

t.test('files, the page of the application, and the API', async (t) => {
  const { send } = await start(t);
  for (const [path, accept, status, type, body] of ROWS) {
    const name = `${path.slice(0, 60)} ${accept}`;
    const found = await send('GET', path, { headers: { accept } });
    t.match({ status: found.status, type: found.headers['content-type'] }, { status, type }, name);
    t.equal(found.text.slice(0, body.length), body, name);
    if (status === 200 && path !== '/admin' && !/whoami|items/.test(path) && type !== 'application/json') {
      t.match(found.headers['content-security-policy'], /^default-src 'self'; .*object-src 'none'/, name);
      t.equal(found.headers['x-content-type-options'], 'nosniff');
      t.match(found.headers.etag, /^"/);
    }
    const head = await send('HEAD', path, { headers: { accept } });
    const shown = { status: head.status, type: head.headers['content-type'], text: head.text };
    t.match(shown, { status, type, text: '' });
    t.equal(head.headers.etag, found.headers.etag, name);
  }
  for (const [method, path] of [
    ['POST', '/app.js'],
    ['DELETE', '/projects'],
    ['PUT', '/x'],
  ] as const)
    t.equal((await send(method, path, { body: {}, headers: { accept: HTML } })).status, 404, path);
});

t.test('no path leads out of the folder', async (t) => {
  const service = await start(t);
  const up = `../${outside.split('/').pop()}/secret.txt`;
  for (const target of [
    `/${up}`,
    `/img/../${up}`,
    `/%2e%2e/${up.slice(3)}`,
    `/..%2f${up.slice(3)}`,
    `/img/..%2f${up}`,
    `/..%5c${up}`,
    `//${outside}/secret.txt`,
    `/${encodeURIComponent(`${outside}/secret.txt`)}`,
  ]) {
    const response = await service.raw(
      `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    );
    t.match(response, /^HTTP\/1.1 (404|400) /, target);
    t.notMatch(response, /\r\n\r\nsecret/);
  }
});

t.test('validators: 304 and 412, and a file that changes', async (t) => {
  const { send } = await start(t);
  for (const [path, accept] of [
    ['/app.js', '*/*'],
    ['/projects', HTML],
    ['/', HTML],
  ] as const) {
    const get = (headers: Record<string, string>) => send('GET', path, { headers: { accept, ...headers } });
    const { etag, 'last-modified': modified } = (await get({})).headers as Record<string, string>;
    const unchanged = await get({ 'if-none-match': etag! });
    t.match(unchanged, { status: 304, text: '', headers: { etag } }, path);
    if (modified) t.equal((await get({ 'if-modified-since': modified })).status, 304);
    t.equal((await get({ 'if-match': '"x"' })).status, 412);
    const coded = await get({ 'accept-encoding': 'gzip' });
    const codedEtag = String(coded.headers.etag);
    if (coded.headers['content-encoding'] === 'gzip')
      t.equal((await get({ 'accept-encoding': 'gzip', 'if-none-match': codedEtag })).status, 304);
  }
  const before = (await send('GET', '/style.css')).headers.etag;
  writeFileSync(join(folder, 'style.css'), 'main { color: green; }');
  const after = await send('GET', '/style.css', { headers: { 'if-none-match': String(before) } });
  t.match(after, { status: 200, text: 'main { color: green; }' });
});

t.test('a large file is sent in parts, compressed if it is text', async (t) => {
  const { url } = await start(t);
  const big = await fetch(`${url}/big.wasm`);
  t.equal(big.headers.get('content-type'), 'application/wasm');
  t.ok(Buffer.from(await big.arrayBuffer()).equals(BIG));
  writeFileSync(join(folder, 'big.js'), BIG);
  const coded = await send(`${url}/big.js`);
  t.ok(coded.bytes.length < BIG.length / 10);
  t.ok(gunzipSync(coded.bytes).equals(BIG));
});

async function send(url: string) {
  const { get } = await import('node:http');
  return new Promise<{ bytes: Buffer }>((resolve) =>
    get(url, { headers: { 'accept-encoding': 'gzip' } }, async (res) => {
      const chunks: Buffer[] = [];
      for await (const chunk of res) chunks.push(chunk as Buffer);
      resolve({ bytes: Buffer.concat(chunks) });
    }),
  );
}

t.test('pages of the service are at /admin, the application at its paths', { skip: noBrowser }, async (t) => {
  const { url } = await start(t);
  const page = await openPage(t, url);
  await page.goto('/projects/7');
  t.equal(await page.textContent('main'), 'at /projects/7');
  await page.goto('/items');
  await page.click('a.brand');
  t.equal(new URL(page.url()).pathname, '/admin');
  t.match(await page.textContent('main'), 'For programs');
});

t.test('files are for everybody, also with AUTH', async (t) => {
  const { send } = await start(t, { AUTH: 'api-key' });
  t.equal((await send('GET', '/app.js')).status, 200);
  t.equal((await send('GET', '/', { headers: { accept: HTML } })).text, INDEX);
  t.equal((await send('GET', '/items')).status, 401);
});

t.test('without pages', async (t) => {
  const { send } = await start(t, { HTML_PAGES: 'off' });
  t.equal((await send('GET', '/', { headers: { accept: HTML } })).text, INDEX);
  t.equal((await send('GET', '/items/1', { headers: { accept: HTML } })).headers['content-type'], undefined);
});

t.test('a folder without index.html is refused', async (t) => {
  await t.rejects(testService(t, { SITE: outside }), { message: /SITE must be a folder/ });
  const { send } = await testService(t);
  t.equal((await send('GET', '/admin')).status, 404);
  t.equal((await send('GET', '/app.js', { headers: { accept: HTML } })).status, 404);
});
