import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Statements } from '../../src/collection/sql-templates.js';
import { PASSWORDS_SQL } from '../../src/db/core-statements.js';
import { SQL_DIR } from '../../src/db/sql-files.js';
import { fill, readStatements, statements } from '../../src/db/statements.js';
import { FEATURES } from '../../src/features.js';
import { EXAMINED, HEADINGS, NOT_EXAMINED } from '../features/citus/statements.js';
import { RESOURCES } from '../support/collections.js';
import { pageStatement } from '../support/list-statement.js';
import { testDatabase } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';

const BUILT = new URL('../../src/', import.meta.url);
const SRC = new URL('../../../src/', import.meta.url);

function statementsOf(t: Test, text: string): ReadonlyMap<string, string> {
  const file = join(t.testdir(), 'some.sql');
  writeFileSync(file, text);
  return readStatements(pathToFileURL(file).href);
}

t.test('a file is read as named statements without comments and the last semicolon', async (t) => {
  const found = statementsOf(
    t,
    `-- What the file is about; not a statement.
-- name: first ($1 id)
select 1
-- a reason
from a;

-- name: second
select ';' as text;
`,
  );
  t.strictSame(Object.fromEntries(found), { first: 'select 1\nfrom a', second: "select ';' as text" });
});

t.test('a name that stands twice, or is missing, is refused', async (t) => {
  const twice = '-- name: one\nselect 1;\n-- name: one ($1 id)\nselect 2;\n';
  t.throws(() => statementsOf(t, twice), /"one \(\$1 id\)" has no name of its own/);
  t.throws(() => statementsOf(t, '-- name: (\nselect 1;\n'), /has no name of its own/);
  t.throws(() => readStatements('no-such-file.sql'), { code: 'ENOENT' });
});

t.test('the names in code are those of the file, no more and no fewer', async (t) => {
  t.equal(
    statements('passwords.sql', ['lock_version', 'set_password']).set_password,
    PASSWORDS_SQL.set_password,
  );
  t.throws(() => statements('passwords.sql', ['lock_version', 'set_pasword']), {
    message: 'passwords.sql: the names listed and those in the file differ: set_pasword, set_password',
  });
  // Each module compares its list when it is loaded.
  for (const feature of FEATURES) await feature.load();
  for (const file of readdirSync(SRC, { recursive: true, encoding: 'utf8' }))
    if (/statements\.ts$/.test(file)) await import(new URL(file.replace(/ts$/, 'js'), BUILT).href);
  // A file for Citus has other texts of these statements, and few of its own.
  const own = new Map([['transfer/import.sql', ['prepare_copy', 'store_copied']]]);
  for (const file of ['collections.sql', 'row-counts.sql', 'transfer/import.sql']) {
    const common = readStatements(file.includes('/') ? `features/${file}` : file);
    const others = [...readStatements(`features/citus/${file}`).keys()].filter((name) => !common.has(name));
    t.same(others, own.get(file) ?? [], file);
  }
});

t.test('the shards of each statement of collections are examined on Citus, or a reason says why not', (t) => {
  const names = [...EXAMINED, ...Object.values(NOT_EXAMINED).flat()];
  t.same(names.toSorted(), [...HEADINGS.keys()].toSorted());
  t.end();
});

t.test('a statement is filled in with the parts that there are', async (t) => {
  const cases: [string, Record<string, string>, string][] = [
    ['select :columns from :table', { columns: 'a, b', table: 't' }, 'select a, b from t'],
    ["where c = ':table'", { table: 't' }, "where c = 't'"],
    ['select a::text, :b::bigint', { text: 'x', bigint: 'y', b: 'b' }, 'select a::text, b::bigint'],
    ['order by :order, :order_by', { order: 'o' }, 'order by o, :order_by'],
    ['select doc:columns', { columns: '' }, 'select doc'],
    ['select :a', { a: ':b $& $1', b: 'no' }, 'select :b $& $1'],
  ];
  for (const [text, parts, filled] of cases) t.equal(fill(text, parts), filled, text);
});

t.test('every statement file parses, and PostgreSQL takes every statement', async (t) => {
  const sql = sqlOf(t, await testDatabase(t));
  const isValid = (text: string, name: string) => t.resolves(sql.unsafe(text).describe(), name);
  const files = readdirSync(SQL_DIR, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /^(?!features\/citus\/)(features\/[\w-]+\/)?[\w-]+\.sql$/.test(name),
  );
  t.ok(files.length > 0);
  for (const file of files) {
    const statements = readStatements(file);
    const headings = readFileSync(new URL(file, SQL_DIR), 'utf8').match(/^-- name:/gm) ?? [];
    t.equal(statements.size, headings.length, `${file} has a statement for each heading`);
    for (const [name, text] of statements) {
      t.match(text, /^[a-z]/, `${file}: ${name} begins with a keyword`);
      t.notMatch(text, /;\s*\S/, `${file}: ${name} is one statement`);
      if (fill(text, { table: '' }) !== text) continue; // those of collections follow
      if (!/(?<!:):[a-z_]/.test(text)) await isValid(text, `${file}: ${name}`);
    }
  }
  for (const resource of RESOURCES) {
    const statements = new Statements(resource, true);
    for (const name of [
      'get',
      'get_large',
      'exists',
      'lock',
      'create',
      'create_many',
      'replace',
      'replace_many',
      'remove',
      'remove_if',
    ] as const)
      await isValid(statements.of(name), `${resource.name}: ${name}`);
    const selections = [
      '',
      'page=100',
      'page=100&count=none',
      ...(resource.searchable.length > 0 ? ['search=chair', 'search=ch', 'search=ch&count=none'] : []),
      ...(resource.sortable.length > 0 ? [`sort=-${resource.sortable[0]},created_at`] : []),
    ];
    const parents = [undefined, ...(resource.parent ? ['01900000-0000-7000-8000-000000000001'] : [])];
    for (const parent of parents)
      for (const selection of selections)
        for (const sort of ['created_at', ...resource.sortable])
          for (const order of ['asc', 'desc']) {
            const page = selection.startsWith('page=') ? '' : 'page=1&';
            const query = `${page}${selection}${selection.includes('sort=') ? '' : `&sort=${sort}`}&order=${order}`;
            const { text } = pageStatement(resource, query, { lists: 'numbered', parent });
            await isValid(text, `${resource.name}: ${query}`);
          }
  }
});
