import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { settingNames } from '../../src/config/config.js';
import { FEATURES } from '../../src/features.js';
import { settings } from '../support/settings.js';
import t from '../support/test.js';

const PAGE = readFileSync(fileURLToPath(new URL('../../../docs/configuration.md', import.meta.url)), 'utf8');
const [SERVICE, OPTIONAL] = PAGE.split('## Optional features') as [string, string];

/** The settings in the first column of the tables of a text. */
const namesIn = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((row) => [...row.split('|')[1]!.matchAll(/`([A-Z]\w+)`/g)].map(([, name]) => name!))
    .sort();

t.test('docs/configuration.md has a row for every setting, and for nothing else', async (t) => {
  t.strictSame(namesIn(PAGE), settings());
});

t.test('docs/configuration.md has the settings of each feature in a group of their own', async (t) => {
  const core = settingNames([]);
  t.strictSame(namesIn(SERVICE), [...core].sort());
  const ofFeatures = FEATURES.flatMap(({ settings }) => (settings ? [settingNames([settings])] : []))
    .map((names) =>
      names
        .filter((name) => !core.includes(name))
        .sort()
        .join(),
    )
    .filter((names) => names !== '')
    .sort();
  const groups = OPTIONAL.split('\n### ').slice(1);
  t.strictSame(groups.map((group) => namesIn(group).join()).sort(), ofFeatures);
});

t.test('what most installations set comes first', async (t) => {
  const [, first] = PAGE.split('\n## ');
  t.ok(first!.startsWith('The settings that you will set\n'));
  t.ok(namesIn(first!).length <= 10);
});
