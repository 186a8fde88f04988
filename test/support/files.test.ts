import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { NAMED, ROOT } from './runner/files.js';
import t from './test.js';

t.test('each folder and file that the sets of tests name exists', async (t) => {
  const isThere = (name: string) =>
    existsSync(join(ROOT, 'test', `${name}.test.ts`)) || existsSync(join(ROOT, 'test', name));
  t.same(
    NAMED.filter((name) => !isThere(name)),
    [],
  );
});
