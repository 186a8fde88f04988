import { readdirSync, readFileSync } from 'node:fs';
import {
  documentHead,
  lastModified,
  modifiedAt,
  parseRecords,
  toRecord,
  withLastMember,
  withoutFields,
} from '../../src/collection/document.js';
import t from '../support/test.js';

const ID = '01900000-0000-7000-8000-000000000001';
const CREATED = '2026-01-01T00:00:00.000Z';
const UPDATED = '2026-02-03T04:05:06.789Z';
/** `fields`: their text, with a comma behind each. */
const documentOf = (fields: string) =>
  `{"id":"${ID}",${fields}"created_at":"${CREATED}","updated_at":"${UPDATED}","_version":3}`;

/** Text and offsets of the layout: members of the service, and positions in a document. */
const LAYOUT =
  /\{"id":"|"_version":|"(created|updated)_at":"|(?<!\.)\b(43|44|46|55|92|138)\b|\b(slice|substr|substring|left|right)\((doc, ?)?7\b/;

/** The first line of a file that contains part of the layout. Comments and applied migrations are ignored. */
function layoutIn(file: URL): string | undefined {
  return readFileSync(file, 'utf8')
    .split('\n')
    .find((line) => !/^\s*(\/\/|\*|\/\*|--)/.test(line) && LAYOUT.test(line));
}

t.test('only document.ts knows the layout of a stored document', async (t) => {
  const root = new URL('../../../', import.meta.url);
  const files = ['src/', 'sql/'].flatMap((folder) =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|sql)$/.test(name) && !name.startsWith('migrations'))
      .map((name) => folder + name),
  );
  t.ok(files.length > 100);
  const found = files.filter((name) => layoutIn(new URL(name, root)) !== undefined);
  t.same(found, ['src/collection/document.ts']);
});

t.test('a document is valid JSON with the id first and the version last', async (t) => {
  for (const fields of [{}, { name: 'x', nested: { _version: 7, updated_at: 'not this' } }]) {
    const record = toRecord(ID, documentHead(ID, fields, CREATED, UPDATED), 12);
    const parsed = JSON.parse(record.doc);
    t.same(parsed, { ...fields, id: ID, created_at: CREATED, updated_at: UPDATED, _version: 12 });
    t.equal(Object.keys(parsed)[0], 'id');
    t.equal(modifiedAt(record), Date.parse(UPDATED));
    t.equal(lastModified(record), 'Tue, 03 Feb 2026 04:05:06 GMT');
    t.same(JSON.parse(withLastMember(record.doc, ',"last":1')), { ...parsed, last: 1 });
    t.same([...parseRecords(record.doc).records.values()], [record]);
  }
});

t.test('records, tombstones and large records are read from one text', async (t) => {
  const record = toRecord(ID, documentHead(ID, { name: '\x1e' }, CREATED, UPDATED), 3);
  const [deleted, long] = [ID.replace(/1$/, '2'), ID.replace(/1$/, '3')];
  const { records, large } = parseRecords(
    [record.doc, `{"id":"${deleted}"}`, `{"id":"${long}",70000`].join('\x1e'),
  );
  t.same(records.get(ID), record);
  t.equal(records.get(deleted)?.version, 0);
  t.same([...large], [long]);
  t.equal(parseRecords(null).records.size, 0);
});

t.test('a part of a document is the text that its fields have, whatever they contain', (t) => {
  const records = [
    '',
    '"x":-1.50e20,',
    '"a":"q\\"uo\\\\","b":"\\\\\\"","c":"",',
    '"a":{"b":[1,{"c":"}]\\","}],"d":{}},"e":[],"f":null,"g":[{"a":1}, true ],',
    '"a\\"b":1,"c\\\\":2,"\\n\u00e9":"3","__proto__":{"a":[]},',
  ];
  for (const fields of records) {
    const doc = documentOf(fields);
    const names = Object.keys(JSON.parse(doc) as object);
    t.equal(
      withoutFields(doc, () => false),
      doc,
    );
    t.equal(
      withoutFields(doc, () => true),
      documentOf(''),
    );
    for (const name of names.slice(1, -3)) {
      const without = { ...(JSON.parse(doc) as Record<string, unknown>) };
      delete without[name];
      t.same(JSON.parse(withoutFields(doc, (each) => each === name)), without, `${doc} without ${name}`);
    }
  }
  for (const doc of [
    '{ "a": 1 }',
    documentOf('"a": 1, '),
    documentOf('"a":1,').replace('"a', ' "a'),
    documentOf('"a":1,').replace('_version', 'version'),
    documentOf('"a":1,').replace('created_at', 'made_at'),
    documentOf('"a":1,').replace('.000Z', 'Z'),
    documentOf('"a":1,').replace('.000Z', '.000000+00:00'),
    documentOf('"a":1,').replace('{', '{"2024":true,'),
  ]) {
    const { a: _, ...without } = JSON.parse(doc) as Record<string, unknown>;
    t.same(JSON.parse(withoutFields(doc, (name) => name === 'a')), without, doc);
    t.same(JSON.parse(withoutFields(doc, () => false)), JSON.parse(doc), doc);
  }
  for (const doc of [documentOf('"a":1'), '', '[]x'])
    t.throws(() => withoutFields(doc, () => false), SyntaxError, doc);
  t.end();
});
