import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { plinth } from '../../support/command.js';
import t from '../../support/test.js';

t.test('a folder that cannot hold the data is one line that says what to do', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-import-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  chmodSync(folder, 0o755);
  const file = join(folder, 'items.ndjson');
  writeFileSync(file, '{"name":"a"}\n');
  for (const DATA_DIR of [
    file,
    join(file, 'below'),
    ...(process.platform === 'linux' ? ['/proc', '/proc/x/y'] : []),
  ]) {
    const { code, err } = await plinth(t, ['import', 'items', file], { DATA_DIR });
    t.equal(code, 69, DATA_DIR);
    t.match(
      err,
      /^plinth: DATA_DIR \S+ cannot be written: [^\n]+; set DATA_DIR to a folder [^\n]+\n$/,
      DATA_DIR,
    );
  }
});
