import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from './test.js';

/** A folder with files, by their names, which are JSON unless they are text or bytes; removed after the test. */
export function folderOf(t: Pick<Test, 'teardown'>, files: Readonly<Record<string, unknown>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-files-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files))
    writeFileSync(
      join(folder, name),
      typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content),
    );
  return folder;
}
