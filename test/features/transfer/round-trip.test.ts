import { generator } from '../../support/random-values.js';
import t, { type Test } from '../../support/test.js';
import { importing } from './imports.js';

const FORMATS = ['json', 'ndjson', 'csv'] as const;

/** Exports one collection in each format. */
async function exported(t: Test, { run, read }: Awaited<ReturnType<typeof importing>>) {
  const texts: Record<string, string> = {};
  for (const format of FORMATS) {
    t.match(await run('export', 'things', '-o', `out.${format}`), { code: 0, err: '' });
    texts[format] = read(`out.${format}`);
  }
  return texts;
}

for (const seed of [1, 2, 3])
  t.test(`random records of a random declaration survive export and import, seed ${seed}`, async (t) => {
    const random = generator(seed);
    const declaration = random.declaration();
    const from = await importing(t, { 'things.json': declaration });
    const records = Array.from({ length: 60 }, () => random.record(declaration));
    const source = ['things', from.put('source.ndjson', records)];
    t.match(await from.load(source), { code: 0, err: '' });
    const [first] = (await from.all('/things?page=1&limit=1')).data;
    await from.send('PATCH', `/things/${first.id}`, { body: { changed: true } });
    const before = await exported(t, from);
    for (const format of FORMATS) {
      const to = await importing(t, { 'things.json': declaration });
      const args = ['things', to.put(`in.${format}`, before[format])];
      t.same(await to.load(args), { code: 0, out: 'things: 60 stored, 0 refused\n', err: '' }, format);
      t.equal((await exported(t, to))[format], before[format], format);
      const again = await to.load([...args, '--keep-ids']);
      t.same(again, { code: 0, out: 'things: 0 stored, 0 refused, 60 unchanged\n', err: '' }, format);
      t.equal((await exported(t, to))[format], before[format], format);
    }
  });
