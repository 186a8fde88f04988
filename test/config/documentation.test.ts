import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { clientSecret, readConfig, webhookSecret } from '../../src/config/config.js';

const PAGE = readFileSync(fileURLToPath(new URL('../../../docs/configuration.md', import.meta.url)), 'utf8');

/** Former names, which a warning reports. */
const FORMER = new Set(['ANSWER_BYTES', 'EVENTS_KEEP']);

function settings(): string[] {
  const names = new Set<string>();
  const env = new Proxy<Record<string, string>>(
    {},
    {
      get: (_, name) => void names.add(String(name)),
    },
  );
  readConfig(env);
  clientSecret(env);
  webhookSecret(env);
  return [...names].filter((name) => !FORMER.has(name)).sort();
}

t.test('docs/configuration.md has a row for every setting, and for nothing else', async (t) => {
  const rows = PAGE.split('\n').filter((line) => line.startsWith('| `'));
  const documented = rows.flatMap((row) =>
    [...row.split('|')[1]!.matchAll(/`(\w+)`/g)].map(([, name]) => name),
  );
  t.strictSame(documented.sort(), settings());
});
