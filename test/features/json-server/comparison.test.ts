import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { jsonServer, LIBRARY } from '../../support/json-server.js';
import t from '../../support/test.js';
import { digestsOf, libraryService, outcomesOf } from './library.js';

const NAME = 'json-server-responses.json';
const at = (folder: string) => fileURLToPath(new URL(`../../../../${folder}/${NAME}`, import.meta.url));

t.test('lists, records and writes are those of json-server', async (t) => {
  const { url, old } = await libraryService(t);
  const theirs = await outcomesOf(await jsonServer(t, LIBRARY), new Map());
  const ours = await outcomesOf(url, old);
  t.ok(Object.keys(theirs).length > 300);
  t.same(ours, theirs);
  writeFileSync(at('dist'), `${JSON.stringify(digestsOf(theirs), undefined, 2)}\n`);
  t.equal(readFileSync(at('test/fixtures'), 'utf8'), readFileSync(at('dist'), 'utf8'), `as dist/${NAME}`);
});
