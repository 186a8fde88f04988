import { openReads } from '../../src/collection/reads.js';
import { Statements } from '../../src/collection/sql-templates.js';
import { connect, type Run } from '../../src/db/db.js';
import { users } from '../support/collections.js';
import { testDatabase } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';

const idOf = (n: number) => `01900000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
const [A, B, C, NONE] = [idOf(1), idOf(2), idOf(3), idOf(9)];

const documentOf = (id: string, filling = '') =>
  `{"id":"${id}","x":"${filling}","created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","_version":1}`;

t.test('reads of one tick share a statement, and each gets its own record', async (t) => {
  const databaseUrl = await testDatabase(t);
  const sql = sqlOf(t, databaseUrl);
  const db = connect(databaseUrl, {
    dbConnections: 2,
    dbSearches: 1,
    dbStreams: 1,
    queue: 100,
    dbTimeoutMs: 10_000,
    events: false,
    tombstones: true,
  });
  t.teardown(() => db.close());
  const sent: string[] = [];
  const run: Run = (text, args) => {
    sent.push(String(args[0]).trim());
    return db.run(text, args);
  };
  const reads = openReads({ ...db, run }, 'users', new Statements(users, true));
  const large = 'x'.repeat(70_000);
  for (const [id, filling] of [[A], [B], [C, large]] as [string, string?][])
    await sql`insert into users (id, version, updated_at, email, doc)
      values (${id}, 1, '2026-01-01', ${`${id}@example.org`}, ${documentOf(id, filling)})`;
  await sql.begin(async (sql) => {
    await sql`set local plinth.tombstones = on`;
    await sql`delete from users where id = ${B}`;
  });
  const found = await Promise.all([A, B, C, NONE, A].map((id) => reads.get(id)));
  const record = { id: A, version: 1, doc: documentOf(A) };
  t.same(found, [record, 'gone', { id: C, version: 1, doc: documentOf(C, large) }, 'absent', record]);
  t.same(sent, [`{"${A}","${B}","${C}","${NONE}"}`, C], 'the large record takes a statement of its own');
});
