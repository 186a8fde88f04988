import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { declare } from '../support/collections.js';
import { plinth, plinthProcess } from '../support/command.js';
import { testDatabase } from '../support/service.js';
import t from '../support/test.js';

const AUTHORS = {
  type: 'object',
  properties: { name: { type: 'string' } },
};
const referring = (field: object) => ({ type: 'object', properties: { author: field } });
const REFERENCE = { type: 'string', format: 'uuid', 'x-references': 'authors' };

/** Files of which one is removed after they were applied, with the fault that remains. */
const ROWS: readonly (readonly [files: object, removed: string, fault: RegExp])[] = [
  [
    { 'authors.json': AUTHORS, 'books.json': referring(REFERENCE) },
    'authors.json',
    /books\.json#\/properties\/author\/x-references: there is no collection authors/,
  ],
  [
    { '_name.json': { type: 'string', maxLength: 9 }, 'books.json': referring({ $ref: '_name.json' }) },
    '_name.json',
    /books\.json#\/properties\/author\/\$ref: can't resolve/,
  ],
];

const COMMANDS = [
  ['migrate', '--plan'],
  ['users', 'create', 'ann@example.org', '--name', 'Ann'],
  ['access', 'explain', 'GET', '/books', '--as', 'ann'],
  ['collections', 'check'],
];

t.test('a start and each command refuse declarations without one of their files', async (t) => {
  for (const [files, removed, fault] of ROWS) {
    const folder = declare(t, files as Record<string, unknown>);
    const env = { DATABASE_URL: await testDatabase(t), COLLECTIONS: folder, PORT: '0' };
    const applied = await plinth(t, ['migrate'], env);
    t.equal(applied.code, 0, applied.err);
    rmSync(join(folder, removed));
    t.match(await plinthProcess(t, ['serve'], env), { code: 78, err: fault }, `${removed}: serve`);
    for (const command of COMMANDS)
      t.match(await plinth(t, command, env), { code: 78, err: fault }, `${removed}: ${command.join(' ')}`);
  }
});
