import { readdirSync, readFileSync } from 'node:fs';
import t from '../support/test.js';

const SRC = new URL('../../../src/', import.meta.url);

/** Files that name the table of a collection in a statement, and why each may. */
const KNOWN: Readonly<Record<string, string>> = {
  'list/condition-sql.ts': 'adds each condition on the records of a list',
  'policy/policy-sql.ts':
    'finds out which grants hold for records by their ids, and writes the records that grants permit',
  'list/record-source.ts': 'finds out whether the related records of former states exist',
  'policy/column-mask.ts': 'joins the records for which a grant holds, on Citus',
  'list/list-sql.ts': 'reads records of a page by the ids that a selection has found',
  'collection/resource.ts': 'names the columns of a table',
  'collection/sql-templates.ts': 'reads and writes records by their ids',
  'app/app-parts.ts': 'names the tables of callers for their credentials',
  'collection/numbers.ts': 'continues a series of numbers after the greatest one',
  'db/row-counts.ts': 'counts all records, in background',
  'auth/credentials/credential-watch.ts': 'reads the versions of the passwords of callers',
};

/** Folders whose statements are about whole tables, for operators. */
const OPERATORS = /^(?:schema|features\/transfer|declarations)\//;

t.test('records that a request reads come from one place for lists, and one for ids', async (t) => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  const found = files.filter((name) => {
    const text = readFileSync(new URL(name, SRC), 'utf8');
    return /\w\.table\b|\btable \}\)?|\btable\b[^}]*\}: Resource/.test(text) && !OPERATORS.test(name);
  });
  t.same(
    found.filter((name) => !(name in KNOWN)),
    [],
  );
  for (const name of Object.keys(KNOWN)) t.ok(found.includes(name), `${name} still does`);
});

/** Files of features that read records in expressions, which a statement of lists contains. */
const EXPRESSIONS = ['features/json-server/loose-relations.ts', 'features/json-server/loose-sql.ts'];

t.test('the builder of lists makes all statements of lists, those of features included', async (t) => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /^features\/.*\.ts$/.test(name),
  );
  const found = files.filter((name) =>
    /(recordsSql|sourceSql|accessibleSql)\(/.test(readFileSync(new URL(name, SRC), 'utf8')),
  );
  t.same(found.sort(), EXPRESSIONS);
  for (const name of files.filter((file) => file.startsWith('features/json-server/'))) {
    const text = readFileSync(new URL(name, SRC), 'utf8');
    t.notMatch(text, /\bdb\.|\bDb\b|\b(run|query|search)\(\w*text\b/, `${name} runs no statement`);
  }
});
