import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FieldRow, rowsOf, withRows } from '../../../src/features/pages/declaration-fields.js';
import type { JsonObject } from '../../../src/json.js';
import { noBrowser, openPage } from '../../support/chromium.js';
import { declare } from '../../support/collections.js';
import { startPlinth } from '../../support/command.js';
import { byPassword, makeUser } from '../../support/credentials.js';
import { checkPage } from '../../support/page-checks.js';
import { send, type TestService, testService, undeclaredDatabase } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { serviceWithTasks } from './collections.js';
import { PageVisitor } from './visitor.js';

const BOOK = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Book',
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', maxLength: 80, 'x-index': true },
    state: { type: 'string', enum: ['new', 'old'] },
    code: { type: ['string', 'integer'] },
  },
};

const VIEWS = [{ width: 320 }, { width: 390, colorScheme: 'dark' as const }, { width: 1280 }];
const PATH = '/declaration-files';

/** A service that takes changed declarations, its folder, and a visitor of its pages. */
async function watching(t: Test, env: Record<string, string> = {}) {
  const folder = declare(t, { 'books.json': JSON.stringify(BOOK, null, 2) });
  const service = startPlinth(t, ['serve', '--watch'], {
    ...{ DATABASE_URL: await undeclaredDatabase(t), MIGRATE: 'auto', COLLECTIONS: folder },
    ...{ PORT: '0', LOG_LEVEL: 'error', ...env },
  });
  const url = await service.ready();
  const own = { url, send: (...given) => send(url, ...given) } as Pick<TestService, 'url' | 'send'>;
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  return { service, url, folder, read, own, visitor: new PageVisitor(own as TestService) };
}

t.test('an administrator sees the plan of a declaration, and applies it', async (t) => {
  const { service, url, folder, read, own, visitor } = await watching(t);
  const before = read('books.json');
  await own.send('POST', '/books', { body: { name: 'A', code: 'x' } });
  t.match(await visitor.text('/'), 'Declare a collection');
  t.match(await visitor.text('/books'), `${PATH}?collection=books`);
  const page = await visitor.get(`${PATH}?collection=books`);
  t.match(page.text, '<h1>Declaration of Books</h1>');
  const rows = {
    was: ['name', 'state', 'code', ''],
    name: ['name', 'state', 'code', 'price'],
    type: ['Text', 'Text', 'As in the JSON', 'Number'],
    choices: ['', 'new, old, lost', '', ''],
    required: '0',
    sortable: ['0', '3'],
  };
  const show = (values: Record<string, string | string[]>) =>
    visitor.submit(t, page, 'Show the plan', values);

  t.test('records that violate it prevent it', async (t) => {
    const plan = await show({ ...rows, required: ['0', '3'] });
    t.equal(plan.status, 200);
    t.match(plan.text, /1 of 1 records of books violate the declaration:[\s\S]*price is required/);
    t.notMatch(plan.text, '>Apply<');
    const forged = await visitor.submit(t, plan, 'Show the plan again', { _apply: '1' });
    t.match(forged.text, 'price is required');
    t.equal(read('books.json'), before);
  });

  t.test('faults are in words, and nothing is written', async (t) => {
    const twice = await show({ ...rows, name: ['name', 'state', 'code', 'state'] });
    t.equal(twice.status, 400);
    t.match(twice.text, /<b>state<\/b> is there twice[\s\S]*value="new, old, lost"/);
    const searched = await show({ ...rows, searched: '3' });
    t.equal(searched.text.match(/name="name"/g)?.length, 8, 'four rows and four empty ones');
    const again = await visitor.submit(t, searched, 'Show the plan');
    t.equal(again.text.match(/name="name"/g)?.length, 8, 'no more of them');
    t.match([searched.status, searched.text], [400, /price, x-search<\/b> only a field of type string/]);
    t.match((await show({ _text: '{"type": 3' })).text, 'is not JSON');
    for (const collection of ['../books', 'a/b', 'Books', ''])
      t.equal((await show({ collection, _etag: '', _text: '{}' })).status, 400, collection);
    t.equal((await visitor.get(`${PATH}?collection=../books`)).status, 400);
    t.match(
      (await show({ collection: 'keys', _etag: '', _text: '{}' })).text,
      'a path of the service itself',
    );
    t.same(readdirSync(folder), ['books.json']);
    t.equal(read('books.json'), before);
  });

  t.test('the plan is applied, and the file is ready for git', async (t) => {
    const plan = await show(rows);
    t.match(plan.text, /Add the column books\.price<\/b><br><span class="dim">Locks books, for an instant/);
    t.equal(read('books.json'), before, 'a plan changes nothing');
    const edited = await visitor.submit(t, plan, 'Apply', { _apply: '1', _text: '{"type":"object"}' });
    // Only a text with a plan is applied.
    t.match([edited.status, edited.text], [400, 'Nothing is changed yet']);
    const applied = await visitor.submit(t, plan, 'Apply', { _apply: '1' });
    t.match([applied.status, applied.headers.location], [303, '/books?_done=saved']);
    const price = { type: 'number', 'x-index': true };
    const state = { ...BOOK.properties.state, enum: ['new', 'old', 'lost'] };
    const expected = { ...BOOK, properties: { ...BOOK.properties, state, price } };
    t.equal(read('books.json'), `${JSON.stringify(expected, null, 2)}\n`);
    t.same(readdirSync(folder), ['books.json']);
    t.equal((await own.send('GET', '/books?page=1&filter[price][gte]=1')).status, 200, 'at once');
  });

  t.test('a file that was changed meanwhile is not overwritten', async (t) => {
    const stale = await show(rows);
    t.match([stale.status, stale.text], [412, 'was changed meanwhile. Nothing was written.']);
    const plan = await visitor.submit(t, await visitor.get(`${PATH}?collection=books`), 'Show the plan', {});
    writeFileSync(join(folder, 'books.json'), before);
    t.equal((await visitor.submit(t, plan, 'Apply', { _apply: '1' })).status, 412);
    t.equal(read('books.json'), before);
  });

  t.test('the form that is shown again changes the file as it is now', async (t) => {
    const further = { ...BOOK, properties: { ...BOOK.properties, added: { type: 'string' } } };
    const open = await visitor.get(`${PATH}?collection=books`);
    writeFileSync(join(folder, 'books.json'), JSON.stringify(further));
    for (const values of [rows, { _text: JSON.stringify({ ...further, title: 'Volume' }) }]) {
      const stale = await visitor.submit(t, open, 'Show the plan', values);
      t.equal(stale.status, 412);
      t.match(stale.text, /<summary>The file as it is now<\/summary><pre>[^<]*&#34;added&#34;/);
      const plan = await visitor.submit(t, stale, 'Show the plan');
      t.equal(plan.status, 200);
      t.match(plan.text, /<textarea name="_text"[^<]*&#34;added&#34;/, 'a field of others stays');
    }
    const taken = { ...rows, collection: 'books', was: ['', '', '', ''], type: Array(4).fill('Text') };
    const exists = await visitor.submit(t, await visitor.get(PATH), 'Show the plan', taken);
    t.match([exists.status, exists.text], [412, 'The file is there already']);
    const named = await visitor.submit(t, exists, 'Show the plan', { collection: 'volumes' });
    t.match([named.status, named.text], [200, 'Create the table volumes']);
    writeFileSync(join(folder, 'books.json'), before);
  });

  t.test('a fault of another file has the name of this file', async (t) => {
    const file = join(folder, 'user_books.json');
    writeFileSync(file, '{"type": "object", "properties": {"a": 1}}');
    const form = await visitor.get(`${PATH}?collection=books`);
    const text = JSON.stringify({ ...BOOK, properties: { b: 2 } });
    const refused = await visitor.submit(t, form, 'Show the plan', { _text: text });
    rmSync(file);
    t.match(refused.text, /<b>a<\/b> [^<]*user_books\.json: /);
    t.match(refused.text, /<b>b<\/b> (?![^<]*books\.json)/);
  });

  t.test('a new collection is declared, with a reference, and a field is renamed', async (t) => {
    const form = await visitor.get(PATH);
    const values = {
      collection: 'sales',
      name: ['book', ''],
      type: ['Reference to books', 'Text'],
      was: ['', ''],
    };
    const plan = await visitor.submit(t, form, 'Show the plan', { ...values, choices: ['', ''] });
    t.match(plan.text, 'Create the table sales');
    const applied = await visitor.submit(t, plan, 'Apply', { _apply: '1' });
    t.equal(applied.headers.location, '/sales?_done=created');
    t.match(JSON.parse(read('sales.json')), {
      title: 'Sale',
      properties: { book: { type: 'string', format: 'uuid', 'x-references': 'books' } },
    });
    t.match(await visitor.text('/sales?_new'), 'name="/book"');
    const again = await visitor.submit(t, form, 'Show the plan', { ...values, choices: ['', ''] });
    t.equal(again.status, 412, 'a second one of the name');
    const renamed = await visitor.submit(t, await visitor.get(`${PATH}?collection=sales`), 'Show the plan', {
      ...{ was: ['book', ''], name: ['title', ''], type: ['Reference to books', 'Text'], choices: ['', ''] },
    });
    t.match(renamed.text, 'x-was');
  });

  t.test('by keyboard and without scripts, at each width', { skip: noBrowser }, async (t) => {
    const page = await openPage(t, url, { width: 390, javaScriptEnabled: false });
    await page.goto('/books');
    await page.getByRole('link', { name: 'Declaration' }).click();
    await page.getByLabel('Name of field 5').fill('pages');
    await page.getByLabel('Type of field 5').selectOption('Whole number');
    await page.getByRole('button', { name: 'Show the plan' }).first().focus();
    await page.keyboard.press('Enter');
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download books.json' }).click();
    t.equal((await download).suggestedFilename(), 'books.json');
    await page.getByRole('button', { name: 'Apply' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Saved.').waitFor();
    t.match(JSON.parse(read('books.json')).properties.pages, { type: 'integer' });
    const seen = await openPage(t, url, { width: 320 });
    await seen.goto(`${PATH}?collection=books`);
    await checkPage(t, seen, 'a declaration', VIEWS);
    await seen.getByLabel('searched').nth(3).check();
    await seen.getByRole('button', { name: 'Show the plan' }).first().click();
    await seen.getByRole('heading', { name: /Plan|Declaration/ }).waitFor();
    await checkPage(t, seen, 'a plan', VIEWS);
    await seen.goto(PATH);
    await checkPage(t, seen, 'a new declaration', VIEWS);
  });
  t.test('the process ends in order', async (t) => {
    service.child.kill('SIGINT');
    t.equal(await service.ended, 0, service.stderr());
  });
});

t.test('a row is a type by its label, or a reference to any collection', (t) => {
  const reference = (to: string) => ({ type: 'string', format: 'uuid', 'x-references': to });
  const several = (to: string) => ({ type: 'array', items: reference(to), maxItems: 100, uniqueItems: true });
  for (const [type, expected] of [
    ['Date', { type: 'string', format: 'date' }],
    ['Object', { type: 'object' }],
    ['List of texts', { type: 'array', items: { type: 'string' } }],
    ...['date', 'text', 'object', 'strings', 'books', 'constructor'].flatMap((name) => [
      [`Reference to ${name}`, reference(name)] as const,
      [`References to ${name}`, several(name)] as const,
    ]),
    ['constructor', reference('constructor')],
  ] as const) {
    const row: FieldRow = { was: '', name: 'field', type, choices: '', flags: [] };
    const { properties } = withRows({}, [row]) as { properties: { field: JsonObject } };
    t.match(properties.field, expected, type);
    t.notMatch(properties.field, type === 'Date' ? { 'x-references': /./ } : { format: 'date' }, type);
    const own = rowsOf({ properties });
    if (type !== 'constructor') t.match(own, [{ name: 'field', type }]);
    t.same(withRows({ properties }, own), { properties, required: undefined }, 'and stays');
  }
  t.end();
});

t.test('what the service rejects at last leaves the file as it was', async (t) => {
  const { visitor, read, own } = await watching(t, { COMPAT: 'json-server' });
  const before = read('books.json');
  const page = await visitor.get(`${PATH}?collection=books`);
  const access = [{ can: 'all', scope: 'admin' }];
  const text = JSON.stringify({ ...BOOK, 'x-collection': { access } });
  const plan = await visitor.submit(t, page, 'Show the plan', { _text: text });
  const rejected = await visitor.submit(t, plan, 'Apply', { _apply: '1' });
  t.match(
    [rejected.status, /role="alert">.*/.exec(rejected.text)?.[0]],
    [400, 'COMPAT=json-server cannot be combined with access rules'],
  );
  t.equal(read('books.json'), before);
  t.equal((await own.send('GET', '/books')).status, 200, 'it goes on');
});

t.test('a service that needs a restart offers the file', async (t) => {
  const service = await serviceWithTasks(t);
  const visitor = new PageVisitor(service);
  const page = await visitor.get(`${PATH}?collection=tasks`);
  t.match(page.text, /does not apply declarations[\s\S]*<form class="edit wide"/, 'before the form');
  const fields = { name: ['title', 'state', 'x'], was: ['title', 'state', ''] };
  const types = { type: ['Text', 'Text', 'Date'], choices: ['', 'open, done', ''] };
  const plan = await visitor.submit(t, page, 'Show the plan', { ...fields, ...types });
  t.match(plan.text, /&#34;x&#34;: \{\s+&#34;type&#34;: &#34;string&#34;/);
  t.match(plan.text, /does not apply declarations[\s\S]*download="tasks\.json" href="data:application\/json/);
  t.notMatch(plan.text, '>Apply<');
  const forged = await visitor.submit(t, plan, 'Show the plan again', { _apply: '1' });
  t.match([forged.status, forged.text], [200, 'Plan for Tasks']);
});

t.test('only administrators, with a form of a page, have declarations', async (t) => {
  const open = await testService(t);
  const headers = { 'x-api-key': (await open.send('GET', '/whoami')).json.subject };
  const env = { AUTH: 'basic,api-key', INSECURE: 'basic', BASIC_SCOPES: 'items:read items:write' };
  const service = await testService(t, { ...env, DATABASE_URL: open.databaseUrl });
  await makeUser(open, 'a@example.org');
  const visitor = new PageVisitor(service, byPassword('a@example.org'));
  t.equal((await visitor.get(PATH)).status, 403);
  t.notMatch(await visitor.text('/'), 'Declare a collection');
  t.notMatch(await visitor.text('/items'), PATH);
  t.equal((await service.send('GET', PATH, { headers })).status, 401);
  t.equal((await new PageVisitor(open).post(PATH, new URLSearchParams({ collection: 'a' }))).status, 403);
});
