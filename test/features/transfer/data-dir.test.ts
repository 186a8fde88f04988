import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { plinth } from '../../support/command.js';
import { folderOf } from '../../support/folder.js';
import t from '../../support/test.js';

t.test('a folder that cannot hold the data is one line that says what to do', async (t) => {
  const folder = folderOf(t);
  chmodSync(folder, 0o755);
  const file = join(folder, 'items.ndjson');
  writeFileSync(file, '{"name":"a"}\n');
  const system = process.platform === 'linux' ? ['/proc', '/proc/x/y'] : [];
  for (const DATA_DIR of [file, join(file, 'below'), ...system]) {
    const { code, err } = await plinth(t, ['import', 'items', file], { DATA_DIR });
    t.equal(code, 69, DATA_DIR);
    t.match(err, /^plinth: DATA_DIR \S+ cannot be written: [^\n]+; set DATA_DIR to a folder [^\n]+\n$/);
  }
});
