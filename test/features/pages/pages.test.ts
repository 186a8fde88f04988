import { testService } from '../../support/service.js';
import t from '../../support/test.js';
import { some } from '../../support/thorough.js';
import { until } from '../../support/until.js';
import { words } from '../../support/words.js';
import { serviceWithTasks } from './collections.js';
import { NAUGHTY } from './naughty.js';
import { ACCEPT, linksOf, PageVisitor } from './visitor.js';

t.jobs = 2;

/** A page without the element of its script. */
const ownText = (text: string) => text.replace(/<script src="[^"]*" defer blocking="render"><\/script>/, '');

t.test('a page loads one style and one script, which browsers store for good, and is small', async (t) => {
  const service = await serviceWithTasks(t);
  const body = { title: 'Export leaves out the VAT (profile)', state: 'open', due: '2026-12-01', effort: 3 };
  for (let at = 0; at < 20; at++) await service.send('POST', '/tasks', { body });
  const visitor = new PageVisitor(service);
  const page = await visitor.get('/tasks');
  t.match(page.headers['content-security-policy'], /style-src 'self'; script-src 'self';/);
  const files = [...page.text.matchAll(/(?:href|src)="(\/_assets\/[^"]+)"/g)].map(([, path]) => path!);
  t.equal(files.length, 2);
  let bytes = Buffer.byteLength(page.text);
  for (const path of files) {
    const file = await visitor.get(path);
    t.match(file, { status: 200, headers: { 'cache-control': 'public, max-age=31536000, immutable' } });
    t.match(file.headers['content-type'], path.endsWith('.css') ? 'text/css' : 'text/javascript');
    bytes += Buffer.byteLength(file.text);
  }
  t.ok(bytes <= 30_000, `${bytes} bytes of a list of 20 records with its style and script`);
  t.equal((await visitor.get('/_assets/0000.css')).status, 404);
});

t.test('every link of every page works, from the first page on', async (t) => {
  const service = await serviceWithTasks(t);
  const user = (await service.send('POST', '/users', { body: { email: 'a@example.org', name: 'Ann' } })).json;
  const item = (await service.send('POST', '/items', { body: { name: 'Lamp', price: 3 } })).json;
  for (let at = 0; at < 25; at++)
    await service.send('POST', '/tasks', { body: { title: `t${at}`, state: 'open', itemId: item.id } });
  await service.send('POST', `/users/${user.id}/posts`, { body: { title: 'Post' } });
  const visitor = new PageVisitor(service);
  const seen = new Set<string>();
  const open = ['/'];
  const pages = new Set<string>();
  for (let path = open.shift(); path !== undefined && seen.size < 300; path = open.shift()) {
    const { pathname, search } = new URL(path, service.url);
    if (path.startsWith('data:') || seen.has(pathname + search)) continue;
    seen.add(pathname + search);
    const response = await visitor.get(pathname + search);
    t.equal(response.status, 200, path);
    if (!/text\/html/.test(response.headers['content-type'] ?? '')) continue;
    pages.add(pathname.replace(/[\da-f-]{36}/, ':id'));
    t.ok(response.text.length < 30_000, `${path} has ${response.text.length} characters`);
    open.push(...linksOf(response.text).filter((href) => !href.startsWith('#')));
  }
  for (const path of words('/ /tasks /tasks/:id /users/:id/posts /events /errors /errors/NOT_FOUND'))
    t.ok(pages.has(path), path);
});

t.test('a list can be searched, filtered, sorted and paged', async (t) => {
  const service = await serviceWithTasks(t);
  for (let at = 0; at < 30; at++) {
    const title = `${at % 2 === 0 ? 'even' : 'odd'} ${at}`;
    const body = { title, state: at < 10 ? 'open' : 'done', effort: at, due: '2026-12-01' };
    await service.send('POST', '/tasks', { body });
  }
  const visitor = new PageVisitor(service);
  const titles = async (path: string) => {
    const { text, status } = await visitor.get(path);
    t.equal(status, 200, path);
    return [...text.matchAll(/<th scope="row"><a [^>]*>([^<]*)</g)].map(([, title]) => title);
  };
  t.equal((await titles('/tasks')).length, 20);
  const empty = '/tasks?search=&filter[effort][gte]=&filter[effort][lte]=&filter[state]=&filter[due][gte]=';
  t.same(await titles(empty), await titles('/tasks'), 'fields that were left empty do not filter');
  t.same(await titles('/tasks?filter[effort][gte]=27&filter[effort][lte]=28&search='), ['even 28', 'odd 27']);
  const odd = [1, 3, 5, 7, 9].map((at) => `odd ${at}`);
  t.same(await titles('/tasks?search=odd&filter[state]=open&sort=effort&order=asc'), odd);
  const { text } = await visitor.get('/tasks?search=odd&filter[state]=open&sort=effort&order=asc');
  t.match(text, '<th scope="col" class="number" aria-sort="ascending">');
  t.match(text, 'aria-label="Remove the filter: State: open"');
  t.ok(linksOf(text).includes('/tasks?search=odd&sort=effort&order=asc'), 'the filter can be removed');
  const second = linksOf(await visitor.text('/tasks?sort=title&order=asc')).find((href) =>
    /page=2/.test(href),
  );
  t.equal((await titles(second!)).length, 10);
  const bad = await visitor.get('/tasks?filter[effort]=x');
  t.equal(bad.status, 400);
  t.match(bad.text, 'role="alert"', 'the form with the fault');
});

t.test('the same data as JSON and CSV, and as a command', async (t) => {
  const service = await testService(t);
  const { json } = await service.send('POST', '/items', { body: { name: "O'Neil" } });
  const path = `/items/${json.id}`;
  const visitor = new PageVisitor(service);
  const page = await visitor.get('/items?search=O%27N');
  t.match(page.text, /curl &#39;http:\/\/127\.0\.0\.1:\d+\/items\?search=O%27N&#38;page=1&#39;/);
  t.same((await visitor.get(`${path}?_format=json`)).json, json);
  t.match((await visitor.get(`${path}?_format=csv`)).headers['content-type'], /^text\/csv/);
  t.match((await visitor.get(`${path}?_format=xml`)).headers['content-type'], /^text\/html/, 'unknown');
  for (const accept of [undefined, '*/*']) {
    const headers = accept === undefined ? {} : { accept };
    const open = await service.send('GET', `${path}?_format=csv`, { headers });
    t.match(open.headers['content-type'], 'text/csv', 'a spreadsheet accepts anything');
  }
  const csv = await service.send('GET', `${path}?_format=json`, { headers: { accept: 'text/csv' } });
  t.match(csv.headers['content-type'], 'text/csv');
  const list = await visitor.get('/users?_format=json');
  t.same(list.json, []);
});

t.test('a record shows its references, its referring records and its history', async (t) => {
  const service = await serviceWithTasks(t);
  const item = (await service.send('POST', '/items', { body: { name: 'Lamp' } })).json;
  const body = { title: 'a', state: 'open', itemId: item.id };
  const task = (await service.send('POST', '/tasks', { body })).json;
  await service.send('PATCH', `/items/${item.id}`, { body: { price: 1 } });
  const visitor = new PageVisitor(service);
  const links = linksOf(await visitor.text(`/tasks/${task.id}`));
  t.ok(links.includes(`/items/${item.id}`));
  const page = await visitor.get(`/items/${item.id}`);
  const referring = `/tasks?filter%5BitemId%5D=${item.id}`;
  t.ok(linksOf(page.text).includes(referring));
  t.match(await visitor.text(referring), `/tasks/${task.id}`);
  t.match(page.text, /<li id="version-2">[^<]* updated[\s\S]*<li id="version-1">[^<]* created/);
  // Events are final when all transactions of the server that had begun before them have ended, other tests' too.
  await until('its events are listed', async () =>
    linksOf(await visitor.text('/events')).includes(`/items/${item.id}#version-2`),
  );
});

t.test('errors are pages for browsers, except those of one form', async (t) => {
  const service = await testService(t);
  const visitor = new PageVisitor(service);
  const missing = await visitor.get('/item');
  t.equal(missing.status, 404);
  t.match(missing.headers, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
  t.match(missing.text, /<h1>Not Found<\/h1>[\s\S]*Did you mean \/items\?[\s\S]*href="\/errors\/NOT_FOUND"/);
  t.match(await visitor.get('/items/x'), { status: 404, text: '' });
  const opened = await new PageVisitor(service, { 'sec-fetch-mode': 'navigate' }).get('/items/x');
  t.match(opened, { status: 404, headers: { 'content-type': 'text/html; charset=utf-8' } });
  t.match(
    opened.text,
    /<h1>Not Found<\/h1>[\s\S]*href="\/items"/,
    'a browser that opens a record shows the way on',
  );
  t.match((await visitor.get('/users/x/posts')).json, { error: { code: 'USER_NOT_FOUND' } });
  const parameter = await visitor.get('/items?%3Cscript%3E=1');
  t.equal(parameter.status, 400);
  t.notMatch(ownText(parameter.text), '<script');
  t.match((await service.send('GET', '/item')).headers['content-type'], 'application/json');
  const teapot = await service.send('GET', '/items', { headers: { accept: 'image/png' } });
  t.match(teapot, { status: 406, headers: { 'content-type': /text\/plain/ } });
});

const HOSTILE = /<(script|img|svg|iframe|base|form action="https)|<meta http-equiv|href="javascript/i;

t.test('naughty strings stay text on every page', async (t) => {
  const service = await serviceWithTasks(t);
  const visitor = new PageVisitor(service);
  const paths: string[] = ['/tasks?limit=100', '/events?limit=1000'];
  for (const text of some(NAUGHTY, 10)) {
    const task = { title: text.trim().slice(0, 120), state: 'open', notes: text };
    const body = { ...task, tags: [text], [text]: { [text]: text } };
    const { status, json } = await service.send('POST', '/tasks', { body });
    t.equal(status, 201);
    paths.push(`/tasks/${json.id}`);
    const query = encodeURIComponent(text);
    for (const each of ['search=', 'filter[title]=', '_done=', 'sort=', '_format=', ''])
      paths.push(`/tasks?${each}${query}${each === '' ? '=1' : ''}`);
    paths.push(`/events?types=${query}`, `/${query}`, `/errors/${query}`);
  }
  for (const path of paths) {
    const { status, text } = await visitor.get(path);
    t.ok(status < 500, encodeURI(path));
    const body = ownText(text);
    t.notMatch(body, HOSTILE, path);
    if (!path.startsWith('/tasks/')) continue;
    const failed = await visitor.save(t, path, { '/state': path, '/title': '' });
    t.equal(failed.status, 400);
    t.notMatch(ownText(failed.text), /<(script|img|svg|iframe|base)/i);
  }
});

t.test('a form gives back each naughty string as it was', async (t) => {
  const service = await serviceWithTasks(t);
  const visitor = new PageVisitor(service);
  for (const [at, text] of some([...NAUGHTY.entries()], 10)) {
    // Forms submit every line end as CR LF, which is stored as LF.
    const notes = text.replaceAll('\r\n', '\n');
    const body = { title: 'x', state: 'open', notes, [notes]: notes };
    const { json } = await service.send('POST', '/tasks', { body });
    t.equal((await visitor.save(t, `/tasks/${json.id}`, { '/title': 'y' })).status, 303);
    const { title, notes: after, ...rest } = (await service.send('GET', `/tasks/${json.id}`)).json;
    t.same([title, after, rest[notes]], ['y', notes, notes], `string ${at}`);
  }
});

t.test('pages of a service with credentials show what their caller may do', async (t) => {
  const service = await testService(t, { AUTH: 'api-key' });
  const anonymous = new PageVisitor(service);
  const home = await anonymous.get('/');
  t.equal(home.status, 200);
  t.notMatch(home.text, /data-label="Records">\d/, 'no counts');
  const refused = await anonymous.get('/items');
  t.match(refused, { status: 401, headers: { 'www-authenticate': /Bearer|X-API-Key|ApiKey/i } });
  t.match(refused.text, '<h1>Unauthorized</h1>');
  t.match(await service.send('GET', '/items', { headers: { accept: ACCEPT, cookie: 'plinth_browser=x' } }), {
    status: 401,
  });
});
