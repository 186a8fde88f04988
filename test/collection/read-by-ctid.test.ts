import postgres from 'postgres';
import t, { type Test } from 'tap';
import { openCollection } from '../../src/collection/collection.js';
import { openReads } from '../../src/collection/read-batching.js';
import type { StoredRecord } from '../../src/collection/record.js';
import { users } from '../../src/collection/resources/users.js';
import { compileStatements } from '../../src/collection/sql-templates.js';
import { NO_GUARD } from '../../src/collection/write-guard.js';
import { connect, type Run } from '../../src/db/db.js';
import { openPlaces } from '../../src/db/places.js';
import { testDatabase } from '../support/service.js';

const idOf = (n: number) => `01900000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
const [A, B, C] = [idOf(1), idOf(2), idOf(3)];
/** It looks the same as A to who keeps the places. */
const TWIN = '01900000-0000-7000-8000-ff0000000001';

const document = (id: string, version: number) =>
  `{"id":"${id}","n":${version},"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","_version":${version}}`;

/** Reads of a table with the records A, B and C, and what was asked of the database. */
async function opened(t: Test, tombstones = false, places = openPlaces()) {
  const databaseUrl = await testDatabase(t);
  const sql = postgres(databaseUrl, { max: 1 });
  t.teardown(() => sql.end());
  const db = connect(databaseUrl, {
    connections: 2,
    searches: 1,
    streams: 1,
    queue: 100,
    timeoutMs: 10_000,
    events: false,
    tombstones,
  });
  t.teardown(() => db.close());
  const asked: string[][] = [];
  const faults: Error[] = [];
  const run: Run = (text, args) => {
    const [ids, places] = args as string[];
    if (text.includes('ctid')) asked.push([ids!, places!.trim()]);
    const fault = asked.length > 1 ? faults.shift() : undefined;
    return fault ? Promise.reject(fault) : db.run(text, args);
  };
  const statements = compileStatements(users, tombstones);
  const reads = openReads({ ...db, run }, 'users', (name) => statements.get(name)!, places);
  const insert = (id: string, version = 1) =>
    sql`insert into users (id, version, updated_at, rules, email, doc)
      values (${id}, ${version}, '2026-01-01', 1, ${`${id}@example.org`}, ${document(id, version)})`;
  const update = (id: string, version: number) =>
    sql`update users set version = ${version}, doc = ${document(id, version)} where id = ${id}`;
  for (const id of [A, B, C]) await insert(id);

  return {
    sql,
    insert,
    update,
    db: { ...db, run },
    asked,
    /** The next statement but the first is refused. */
    fail: (error: Error) => faults.push(error),
    /** Asks for records in one turn: what each is, and the statements that it took. */
    async read(...ids: string[]) {
      asked.length = 0;
      const outcomes = await Promise.allSettled(ids.map((id) => reads.get(id)));
      const seen = outcomes.map((outcome) =>
        outcome.status === 'rejected'
          ? (outcome.reason as Error).message
          : typeof outcome.value === 'string'
            ? outcome.value
            : versionOf(outcome.value),
      );
      return { seen, asked: [...asked] };
    },
    placeOf: async (id: string) =>
      (await sql`select ctid::text as place from users where id = ${id}`)[0]?.place,
  };
}

function versionOf({ id, version, doc }: StoredRecord): number {
  if (doc !== document(id, version)) throw new Error(`not its document: ${doc}`);
  return version;
}

t.test('what was found once is asked for by its place', async (t) => {
  const { read, placeOf } = await opened(t);
  t.same(await read(A, B), { seen: [1, 1], asked: [[`{${A},${B}}`, '{}']] });
  const places = `"${await placeOf(A)}","${await placeOf(B)}"`;
  t.same(await read(A, B), { seen: [1, 1], asked: [['{}', `{${places}}`]] });
  t.same(await read(A, C, B), { seen: [1, 1, 1], asked: [[`{${C}}`, `{${places}}`]] });
  const none = idOf(9);
  t.same(await read(A, none, B), { seen: [1, 'absent', 1], asked: [[`{${none}}`, `{${places}}`]] });
  t.same(await read(A), { seen: [1], asked: [] }, 'one that is alone has the statement for ids');
});

t.test('one that somebody else has changed takes another statement, of itself alone', async (t) => {
  const { read, update, placeOf } = await opened(t);
  await read(A, B);
  const places = `{"${await placeOf(A)}","${await placeOf(B)}"}`;
  await update(A, 2);
  t.same(await read(A, B), {
    seen: [2, 1],
    asked: [
      ['{}', places],
      [`{${A}}`, '{}'],
    ],
  });
  t.same((await read(A, B)).asked, [['{}', `{"${await placeOf(A)}","${await placeOf(B)}"}`]]);
});

t.test('one that is written here is asked for by its id', async (t) => {
  const { db, asked, placeOf } = await opened(t);
  const collection = await openCollection(db, users, false);
  const read = async () => {
    asked.length = 0;
    await Promise.all([A, B].map((id) => collection.get(id)));
    return [...asked];
  };
  await read();
  const far = async () => [[`{${A}}`, `{"${await placeOf(B)}"}`]];
  await collection.amend({ id: A, fields: { age: 5 }, version: undefined, maxBytes: 4096 });
  t.same(await read(), await far());
  await collection.replace(A, collection.check({ email: 'a@example.org', name: 'A' }), NO_GUARD);
  t.same(await read(), await far());
  await collection.remove(A, NO_GUARD);
  t.same(await read(), await far());
});

t.test('another record where it was is not taken for it', async (t) => {
  const { sql, read, insert, placeOf } = await opened(t);
  await read(A, B);
  const place = await placeOf(A);
  await sql`delete from users where id = ${A}`;
  await sql`vacuum users`;
  await insert(idOf(7), 5);
  t.equal(await placeOf(idOf(7)), place);
  t.same((await read(A, B, idOf(7))).seen, ['absent', 1, 5]);
  t.same(await read(A, B), { seen: ['absent', 1], asked: [[`{${A}}`, `{"${await placeOf(B)}"}`]] });
  await insert(A, 3);
  t.same((await read(A, B, idOf(7))).seen, [3, 1, 5]);
});

t.test('ids that look the same do not hide each other', async (t) => {
  const { read, insert, update } = await opened(t);
  await insert(TWIN, 4);
  t.same((await read(A, TWIN)).seen, [1, 4]);
  t.same((await read(A, TWIN)).seen, [1, 4], 'both have the place of one');
  await update(A, 2);
  await update(TWIN, 5);
  t.same((await read(A, TWIN)).seen, [2, 5], 'both have the place of none');
  t.same((await read(TWIN, A)).seen, [5, 2]);
});

t.test('a table that was written anew, or is shorter', async (t) => {
  const { sql, read, insert } = await opened(t);
  await read(A, B, C);
  await sql`delete from users where id = ${A}`;
  await sql`vacuum full users`;
  t.same((await read(A, B, C)).seen, ['absent', 1, 1]);
  await sql`truncate users cascade`;
  t.same((await read(B, C)).seen, ['absent', 'absent']);
  await insert(B, 2);
  t.same((await read(B, C)).seen, [2, 'absent']);
});

t.test(
  'where hardly a place is known and there is room for no more, few statements ask for one',
  async (t) => {
    const places = openPlaces();
    for (let n = 0; n < 200_000; n++) places.keep(idOf(1_000_000 + n), '(1,1)');
    t.notOk(places.isFull());
    for (let n = 200_000; n < 400_000; n++) places.keep(idOf(1_000_000 + n), '(1,1)');
    t.ok(places.isFull());
    const { read, placeOf } = await opened(t, false, places);
    t.same(await read(A, B), { seen: [1, 1], asked: [[`{${A},${B}}`, '{}']] });
    for (let times = 0; times < 15; times++) t.same(await read(A, B), { seen: [1, 1], asked: [] });
    const near = [['{}', `{"${await placeOf(A)}","${await placeOf(B)}"}`]];
    for (let times = 0; times < 3; times++) t.same(await read(A, B), { seen: [1, 1], asked: near });
  },
);

t.test('one that was deleted is gone where tombstones are kept', async (t) => {
  const { sql, read } = await opened(t, true);
  await read(A, B);
  await sql.begin(async (sql) => {
    await sql`set local plinth.tombstones = on`;
    await sql`delete from users where id = ${A}`;
  });
  t.same((await read(A, B)).seen, ['gone', 1]);
  t.same((await read(A, B)).seen, ['gone', 1]);
});

t.test('who has been found does not suffer when the second statement fails', async (t) => {
  const { read, update, fail } = await opened(t);
  await read(A, B, C);
  await update(A, 2);
  fail(new Error('refused'));
  t.same((await read(A, B, C)).seen, ['refused', 1, 1]);
  t.same((await read(A, B, C)).seen, [2, 1, 1]);
});
