import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const COMMAND = fileURLToPath(new URL('../../src/cli/plinth.js', import.meta.url));

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
    const child = spawn(process.execPath, [COMMAND, 'import', 'items', file], {
      env: { PATH: process.env.PATH, DATA_DIR },
    });
    let err = '';
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    t.equal(await new Promise((resolve) => child.on('close', resolve)), 69, DATA_DIR);
    t.match(
      err,
      /^plinth: DATA_DIR \S+ cannot be written: [^\n]+; set DATA_DIR to a folder [^\n]+\n$/,
      DATA_DIR,
    );
  }
});
