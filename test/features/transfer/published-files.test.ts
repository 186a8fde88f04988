import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Papa from 'papaparse';
import { plinth } from '../../support/command.js';
import { folderOf } from '../../support/folder.js';
import { undeclaredDatabase } from '../../support/service.js';
import { sqlOf } from '../../support/sql.js';
import t from '../../support/test.js';

type Fields = Readonly<Record<string, unknown>>;

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const COUNTRIES = 'test/clients/node_modules/country-json/src';
/** Bytes of a file; the flags are megabytes of pictures. */
const MAX_BYTES = 1_000_000;

const FILES = [
  ...readdirSync(join(ROOT, COUNTRIES)).map((name) => `${COUNTRIES}/${name}`),
  'node_modules/papaparse/tests/long-sample.csv',
  'node_modules/papaparse/tests/verylong-sample.csv',
  'node_modules/playwright-core/browsers.json',
  'test/fixtures/dummyjson-products.json',
]
  .map((path) => join(ROOT, path))
  .filter((path) => statSync(path).size <= MAX_BYTES);

/** The records of a file by their collections. */
function recordsIn(file: string): Map<string, readonly Fields[]> {
  const name = basename(file, extname(file))
    .replaceAll(/[^a-z]+/gi, '_')
    .toLowerCase();
  const text = readFileSync(file, 'utf8');
  if (extname(file) === '.csv')
    return new Map([[name, Papa.parse<Fields>(text, { header: true, skipEmptyLines: true }).data]]);
  const content = JSON.parse(text) as Fields[] | Record<string, Fields[]>;
  if (Array.isArray(content)) return new Map([[name, content]]);
  return new Map(Object.entries(content).filter(([, records]) => Array.isArray(records)));
}

t.test('30 published files are declared and stored as they are', async (t) => {
  t.ok(FILES.length >= 30, `${FILES.length} files`);
  const cwd = folderOf(t);
  const DATABASE_URL = await undeclaredDatabase(t);
  const sql = sqlOf(t, DATABASE_URL);

  const storedIn = async (collection: string): Promise<Fields[]> => {
    const rows = await sql`select doc from ${sql(`public_collections.${collection}`)} order by id`;
    return rows.map(({ doc }) => JSON.parse(doc as string));
  };
  /** The id in the file of each record that a reference of a collection can name. */
  const oldIds = async (collection: string): Promise<Map<unknown, Map<unknown, unknown>>> => {
    const { properties } = JSON.parse(readFileSync(join(cwd, 'collections', `${collection}.json`), 'utf8'));
    const ids = new Map<unknown, Map<unknown, unknown>>();
    for (const [field, { 'x-references': to }] of Object.entries<Fields>(properties))
      if (to !== undefined)
        ids.set(field, new Map((await storedIn(String(to))).map(({ id, legacy_id }) => [id, legacy_id])));
    return ids;
  };

  for (const file of FILES) {
    const isCsv = extname(file) === '.csv';
    for (const [collection] of isCsv || Array.isArray(JSON.parse(readFileSync(file, 'utf8')))
      ? recordsIn(file)
      : [[undefined]]) {
      const names = collection === undefined ? [] : [collection];
      const outcome = await plinth(t, ['import', ...names, file, '--infer'], { DATABASE_URL }, { cwd });
      t.match(outcome, { code: 0, err: '' }, file);
    }
    for (const [collection, records] of recordsIn(file)) {
      const ids = await oldIds(collection);
      const found = (await storedIn(collection)).map(({ id, created_at, updated_at, _version, ...fields }) =>
        Object.fromEntries(
          Object.entries(fields).map(([field, value]) => [
            field === 'legacy_id' ? 'id' : field,
            ids.get(field)?.get(value) ?? (isCsv ? String(value) : value),
          ]),
        ),
      );
      // A member without a value is not stored.
      const expected = records.map((record) =>
        Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null)),
      );
      t.same(found, expected, `${file}: ${collection}`);
    }
  }
});
