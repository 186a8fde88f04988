import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { WITH_TRIGGERS } from '../../support/citus.js';
import { COMMAND } from '../../support/command.js';
import { environment } from '../../support/process.js';
import { sqlOf } from '../../support/sql.js';
import t, { type Test } from '../../support/test.js';
import { isThorough } from '../../support/thorough.js';
import { until, untilAtLeast } from '../../support/until.js';
import { importing } from './imports.js';

interface Started {
  readonly kill: () => void;
  readonly outcome: Promise<{ code: number | null; out: string; err: string }>;
}

/** Starts an import as a process, which can be killed. */
function start(args: readonly string[], env: Record<string, string>, stdin?: string): Started {
  const child = spawn(process.execPath, [COMMAND, 'import', ...args], { env: environment(env) });
  if (stdin === undefined) child.stdin.end();
  else createReadStream(stdin).pipe(child.stdin);
  child.stdin.on('error', () => undefined); // it was killed
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const outcome = new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
    child.on('close', (code) => resolve({ code, out, err }));
  });
  return { kill: () => child.kill('SIGKILL'), outcome };
}

const BOOKS = {
  'authors.json': {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string', 'x-index': true },
      legacy_id: { type: 'integer', readOnly: true, 'x-unique': true },
    },
  },
  'books.json': {
    type: 'object',
    required: ['title'],
    properties: {
      title: { type: 'string', 'x-normalize': ['trim'], 'x-index': true, 'x-search': true },
      isbn: { type: 'string', 'x-unique': true },
      price: { type: 'number', 'x-index': true },
      inPrint: { type: 'boolean', 'x-index': true },
      published: { type: 'string', format: 'date-time', 'x-index': true },
      tags: { type: 'array', items: { type: 'string' }, 'x-index': true },
      sizes: { type: 'array', items: { type: 'number' }, 'x-index': true },
      note: { type: 'string', writeOnly: true },
      authorId: { type: 'string', 'x-references': 'authors' },
      sequelTo: { type: 'string', 'x-references': 'books' },
    },
  },
};

async function library(t: Test, settings: Record<string, string> = {}) {
  const world = await importing(t, BOOKS, settings);
  const titles = async () => (await world.all('/books?order=asc')).map((each: Titled) => each.title);
  return { ...world, titles, sql: sqlOf(t, world.databaseUrl) };
}

interface Titled {
  readonly title: string;
}

const lines = (records: readonly unknown[]) => records.map((each) => `${JSON.stringify(each)}\n`).join('');

t.test('NDJSON: every type of column, events, and refusals with their lines', async (t) => {
  const { send, put, load, sql } = await library(t);
  const book = {
    title: ' A "quoted" \\ title\twith\nlines ',
    isbn: '1\\N',
    price: 1e21,
    inPrint: false,
    published: '2020-01-01T02:00:00+02:00',
    tags: ['a,b', '"', '\\', 'NULL', ''],
    sizes: [1.5, -2],
    note: 'hidden\t',
    other: { ä: '€\u2028' },
  };
  const content = `${lines([book, { title: 'B' }])}\n{"title": 1}\r\n{"title"\n${lines([{ title: 'C', isbn: '1\\N' }])}{"title": "last"}`;
  const { code, out, err } = await load(['books', put('books.ndjson', content)]);
  t.same([code, out], [1, 'books: 3 stored, 3 refused\n']);
  t.same(err.trim().split('\n'), [
    'books.ndjson:4/title: must be of type string (value 1)',
    'books.ndjson:5: is not valid JSON',
    'books.ndjson:6/isbn: DUPLICATE: Another record has this isbn. (value "1\\\\N")',
  ]);
  const { json } = await send('GET', '/books?order=asc');
  const { note, ...shown } = book;
  t.match(json[0], { ...shown, title: book.title.trim() });
  t.notOk('note' in json[0]);
  t.match(json.slice(1), [{ title: 'B' }, { title: 'last' }]);
  const [row] = await sql`select * from books order by id limit 1`;
  t.match(row, {
    isbn: '1\\N',
    price: 1e21,
    in_print: false,
    published: '2020-01-01T00:00:00.000Z',
    tags: book.tags,
    sizes: book.sizes,
    write_only: { note: 'hidden\t' },
  });
  t.equal((await sql`select count(*)::int from events where type = 'books.created'`)[0]!.count, 3);
});

t.test('CSV: cells have the declared types; a row may have several lines', async (t) => {
  const { send, put, load } = await library(t);
  const csv = `\uFEFFtitle,price,inPrint,tags,extra\r\n"One, ""1""\nmore",1.5,TRUE,"[""a""]",007\r\nTwo,,,,\r\nThree,much,,,\r\nFour,1,,,,\r\n`;
  const { code, out, err } = await load(['--as', 'books', put('books.csv', csv)]);
  t.same([code, out], [1, 'books: 2 stored, 2 refused\n']);
  t.same(err.trim().split('\n'), [
    'books.csv:5/price: must be of type number (value "much")',
    'books.csv:6: has 6 cells, the header has 5',
  ]);
  const { json } = await send('GET', '/books?order=asc');
  t.match(json[0], { title: 'One, "1"\nmore', price: 1.5, inPrint: true, tags: ['a'], extra: '007' });
  t.notOk('price' in json[1]);
});

t.test('old ids lead to new ones in later imports, and to records of the same file', async (t) => {
  const { all, put, load } = await library(t);
  const authors = [
    { id: 1, name: 'Ann' },
    { id: 2, name: 'Bob' },
    { id: 2, name: 'Cy' },
  ];
  const first = await load(['authors', put('authors.ndjson', authors)]);
  t.equal(
    first.err,
    'authors.ndjson:3/legacy_id: DUPLICATE: Another record has this legacy_id. (record 2)\n',
  );
  const books = [
    { id: 'x', title: 'X', authorId: 2, sequelTo: 'y' },
    { id: 'y', title: 'Y', authorId: '1' },
    { title: 'Z', authorId: '3' },
    { title: 'W', sequelTo: 'gone' },
  ];
  const { err } = await load(['books', put('books.json', books)]);
  t.same(err.trim().split('\n'), [
    'books[2]/authorId: AUTHOR_NOT_FOUND: No such author exists. (value "3")',
    'books[3]/sequelTo: BOOK_NOT_FOUND: No such book exists. (value "gone")',
  ]);
  const [ann, bob] = await all('/authors?order=asc');
  // A record comes after the one to which it refers.
  const [y, x] = await all('/books?order=asc');
  t.match(x, { authorId: bob.id, sequelTo: y.id });
  t.match(y, { authorId: ann.id });
  t.equal(ann.legacy_id, 1);
});

t.test('a constraint that only the database knows refuses one record', WITH_TRIGGERS, async (t) => {
  const { put, load, sql } = await library(t);
  const records = Array.from({ length: 100 }, (_, price) => ({ title: `T${price}`, price }));
  await sql.unsafe(`create function deny() returns trigger language plpgsql as
    $$ begin raise exception 'no' using errcode = '22003'; end $$;
    create trigger deny before insert on books for each row when (new.price = 77) execute function deny()`);
  const { out, err } = await load(['books', put('books.ndjson', records)]);
  t.equal(out, 'books: 99 stored, 1 refused\n');
  t.match(err, /books\.ndjson:78: BAD_REQUEST/);
});

/** A member with which a record is the last of its batch. */
const LONG = { note: 'x'.repeat(200_000) };
/** A member of a record that follows, which fills the next batch. */
const FURTHER = { note: 'x'.repeat(100_000) };

t.test('--strict stops at the first batch with a refusal, and --resume goes on there', async (t) => {
  const { titles, put, load } = await library(t);
  const books = [
    { title: 'A', ...LONG },
    { title: 'B', isbn: '1', ...FURTHER },
    { isbn: '2' },
    { title: 'D' },
  ];
  const args = ['books', put('books.ndjson', books)];
  const strict = await load([...args, '--strict']);
  const err = 'books.ndjson:3/title: is required\n';
  t.same(strict, { code: 1, out: 'books: 1 stored, 1 refused\n', err });
  await load([...args, '--resume']);
  t.same(await titles(), ['A', 'B', 'D']);
  t.match(await load([...args, '--resume']), { out: /^books: 3 stored/ });
  t.equal((await titles()).length, 3, 'a finished import is not repeated');
});

t.test('an import of content whose import was interrupted says so, and stores nothing', async (t) => {
  const { titles, put, load } = await library(t);
  const file = put('books.ndjson', [{ title: 'A', ...LONG }, { title: 'B', ...FURTHER }, { isbn: '2' }]);
  const again = (...options: string[]) => load(['books', file, ...options]);
  await again('--strict');
  t.match(await again(), {
    code: 1,
    out: '',
    err: 'plinth: an import of this content was interrupted after 1 records of books, which are stored. Continue it with --resume, or store them again with --restart.\n',
  });
  t.match(await again('--dry-run'), { code: 1, out: 'books: 2 valid, 1 refused\n' });
  t.equal((await titles()).length, 1);
  t.match(await again('--restart', '--resume'), { code: 64, err: /choose one/ });
  t.match(await again('--restart'), { code: 1, out: 'books: 2 stored, 1 refused\n' });
  t.equal((await titles()).length, 3);
  t.match(await again(), { out: 'books: 2 stored, 1 refused\n' }, 'a finished one was not interrupted');
});

t.test('--resume retains the ids of an export, and knows finished collections', async (t) => {
  const { all, put, load, sql } = await library(t);
  // The ids have this time.
  const TIME = new Date(0x01890a5dac96).toISOString();
  const record = (n: number, fields: object) => ({
    id: `01890a5d-ac96-774b-bcce-b302099a80${n}0`,
    ...fields,
    ...{ created_at: TIME, updated_at: TIME, _version: 1 },
  });
  const books = [
    record(1, { title: 'A', ...LONG }),
    record(2, { isbn: '2', ...FURTHER }),
    record(3, { title: 'C' }),
  ];
  const args = ['books', put('books.ndjson', books)];
  t.match(await load([...args, '--strict']), { code: 1, out: /^books: 1 stored, 1 refused/ });
  const progress = () => sql`select retains_ids, finished from imports where collection = 'books'`;
  t.same(await progress(), [{ retains_ids: true, finished: false }]);
  // The record is enough.
  await sql`update imports set position = 7`;
  await load([...args, '--resume']);
  const ids = (await all('/books?order=asc')).map(({ id }: { id: string }) => id);
  t.same(ids, [books[0]!.id, books[2]!.id]);
  t.same(await progress(), [{ retains_ids: true, finished: true }]);
});

for (const source of isThorough ? ['file', 'standard input'] : [])
  t.test(`kill -9, ${source}: --resume stores each record exactly once`, async (t) => {
    const { send, env, cwd, put, load, sql } = await library(t, { EVENTS: 'on' });
    const count = 12_000;
    const note = 'x'.repeat(500);
    const records = Array.from({ length: count }, (_, n) =>
      n % 100 === 99 ? { isbn: 'no title' } : { title: `title ${n}`, isbn: String(n), tags: ['a'], note },
    );
    const file = join(cwd, put('books.ndjson', records));
    const args = source === 'file' ? ['books', file] : ['books', '-'];
    const stdin = source === 'file' ? undefined : file;
    const first = start(args, env, stdin);
    await untilAtLeast('some batches are stored', () => sql`select 1 from imports where stored > 8000`, 1);
    first.kill();
    t.equal((await first.outcome).code, null);
    const rest = [...args, '--resume'];
    const again = await (stdin === undefined ? load(rest) : start(rest, env, stdin).outcome);
    t.equal(again.out, `books: ${count - count / 100} stored, ${count / 100} refused\n`);
    const [row] = await sql`select count(*)::int, count(distinct isbn)::int as different from books`;
    t.match(row, { count: count - count / 100, different: count - count / 100 });
    const created = `select count(distinct record)::int from events where type = 'books.created'`;
    t.equal((await sql.unsafe(created))[0]!.count, row!.count);
    t.equal((await send('GET', '/books?page=1')).json.meta.total, row!.count);
  });

t.test('two imports of one file at the same time: the second gets a message', async (t) => {
  const { env, cwd, put, sql } = await library(t);
  const records = Array.from({ length: 5000 }, (_, n) => ({ title: `t ${n}` }));
  const file = join(cwd, put('books.ndjson', records));
  await sql.begin(async (transaction) => {
    await transaction`lock table books in access exclusive mode`;
    const first = start(['books', file], env);
    const waiting = () => transaction`select 1 from pg_locks where not granted`;
    await until('the first waits', waiting, ({ length }) => length > 0);
    const second = await start(['books', file], { ...env, MIGRATE: 'check' }).outcome;
    t.match(second, { code: 1, err: /is being imported by another process/ });
    first.kill();
    await first.outcome;
  });
});
