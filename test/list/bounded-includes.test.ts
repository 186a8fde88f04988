import { MAX_PAGE_BYTES } from '../../src/collection/document.js';
import { CITUS, POSTGRESQL } from '../../src/database-url/engine.js';
import { migrationsOn, SCHEMA_NAMES, withSchemaNames } from '../../src/db/migrations.js';
import { ListStatements } from '../../src/list/list-sql.js';
import { TOO_LARGE } from '../../src/list/page-sql.js';
import { CITUS_URL } from '../support/citus.js';
import { posts } from '../support/collections.js';
import { onlyBuiltIn } from '../support/names.js';
import { testDatabase } from '../support/service.js';
import { SCHEMA, sqlOf } from '../support/sql.js';
import t from '../support/test.js';

/** The function of Citus that reads them. */
const { text: DISTRIBUTION } = migrationsOn(CITUS).find(({ text }) =>
  text.includes('function bounded_referring('),
)!;
const FUNCTION = /^create function bounded_referring\([\s\S]*?^end \$\$;$/m.exec(DISTRIBUTION)![0];
const USERS = [1, 2, 3].map((n) => `01900000-0000-7000-8000-00000000000${n}`);
const [ONE, TWO, THREE] = USERS as [string, string, string];

t.test(
  'both engines read the same records to include, and none when they are too large',
  {
    skip: onlyBuiltIn('names tables').skip || (CITUS_URL !== '' && 'needs tables of one database'),
  },
  async (t) => {
    const sql = sqlOf(t, await testDatabase(t));
    const [names] = await sql.unsafe(SCHEMA_NAMES, [SCHEMA]);
    await sql.unsafe(withSchemaNames(FUNCTION, names as never));
    for (const id of USERS)
      await sql`insert into users (id, updated_at, email, doc) values (${id}, now(), ${id}, '{}')`;
    let posted = 0;
    const post = (user: string, bytes: number) => sql`insert into posts (id, updated_at, user_id, doc)
    values (${`01900000-0000-7000-8000-1${String(posted++).padStart(11, '0')}`}, now(), ${user}, ${'x'.repeat(bytes)})`;
    const read = async (ids: readonly string[], limit: number) => {
      const engines = [POSTGRESQL, CITUS].map(async (engine) => {
        const { text, args } = new ListStatements(posts, engine).referring('user_id', ids, limit, undefined);
        const rows = await sql.unsafe(text, args as never[]);
        return rows.map(({ parent, docs }) => [parent, docs === TOO_LARGE ? docs : docs.length]).sort();
      });
      const [own, distributed] = await Promise.all(engines);
      t.same(distributed, own);
      return own;
    };
    t.same(await read(USERS, 20), [], 'no records');
    for (const bytes of [10, 20, 30]) await post(ONE, bytes);
    await post(TWO, MAX_PAGE_BYTES - 30);
    t.same(await read([ONE, THREE], 20), [[ONE, 62]], 'with commas between them');
    t.same(await read([ONE], 2), [[ONE, 31]], 'up to the limit');
    t.same(
      await read(USERS, 2),
      [
        [ONE, 31],
        [TWO, MAX_PAGE_BYTES - 30],
      ],
      'exactly as many bytes as a page may have',
    );
    t.same(await read(USERS, 3), [[null, TOO_LARGE]], 'more bytes');
    await post(THREE, MAX_PAGE_BYTES + 1);
    t.same(await read([THREE], 1), [[null, TOO_LARGE]], 'one record alone');
    t.same(
      await read([ONE, TWO], 1),
      [
        [ONE, 10],
        [TWO, MAX_PAGE_BYTES - 30],
      ],
      'others do not count',
    );
  },
);
