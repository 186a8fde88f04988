import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { declare } from '../../support/collections.js';
import { plinth } from '../../support/command.js';
import { folderOf } from '../../support/folder.js';
import { generator } from '../../support/random-values.js';
import { testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';

const FORMATS = ['json', 'ndjson', 'csv'] as const;

/** Exports one collection in each format. */
async function exported(t: Test, folder: string, env: Record<string, string>, turn: string) {
  const texts: Record<string, string> = {};
  for (const format of FORMATS) {
    const file = join(folder, `${turn}.${format}`);
    t.match(await plinth(t, ['export', 'things', '-o', file], env), { code: 0, err: '' });
    texts[format] = readFileSync(file, 'utf8');
  }
  return texts;
}

for (const seed of [1, 2, 3])
  t.test(`random records of a random declaration survive export and import, seed ${seed}`, async (t) => {
    const random = generator(seed);
    const declaration = random.declaration();
    const COLLECTIONS = declare(t, { 'things.json': declaration });
    const settings = { COLLECTIONS, MIGRATE: 'auto' };
    const folder = folderOf(t);
    const from = await testService(t, settings);
    const records = Array.from({ length: 60 }, () => random.record(declaration));
    const source = join(folder, 'source.ndjson');
    writeFileSync(source, records.map((each) => `${JSON.stringify(each)}\n`).join(''));
    const env = { COLLECTIONS, DATABASE_URL: from.databaseUrl };
    t.match(await plinth(t, ['import', 'things', source], env), { code: 0, err: '' });
    const [first] = (await from.send('GET', '/things?page=1&limit=1')).json.data;
    await from.send('PATCH', `/things/${first.id}`, { body: { changed: true } });
    const before = await exported(t, folder, env, 'before');
    for (const format of FORMATS) {
      const to = await testService(t, settings);
      const target = { COLLECTIONS, DATABASE_URL: to.databaseUrl };
      const file = join(folder, `before.${format}`);
      const first = await plinth(t, ['import', 'things', file], target);
      t.same(first, { code: 0, out: 'things: 60 stored, 0 refused\n', err: '' }, format);
      const after = await exported(t, folder, target, `after-${format}`);
      t.equal(after[format], before[format], format);
      const again = await plinth(t, ['import', 'things', file, '--keep-ids'], target);
      t.same(again, { code: 0, out: 'things: 0 stored, 0 refused, 60 unchanged\n', err: '' }, format);
      t.equal((await exported(t, folder, target, 'again'))[format], before[format], format);
    }
  });
