import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { settings } from '../support/settings.js';
import t from '../support/test.js';

const PAGE = readFileSync(fileURLToPath(new URL('../../../docs/configuration.md', import.meta.url)), 'utf8');

t.test('docs/configuration.md has a row for every setting, and for nothing else', async (t) => {
  const rows = PAGE.split('\n').filter((line) => line.startsWith('| `'));
  const documented = rows.flatMap((row) =>
    [...row.split('|')[1]!.matchAll(/`([A-Z]\w+)`/g)].map(([, name]) => name),
  );
  t.strictSame(documented.sort(), settings());
});
