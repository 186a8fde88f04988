import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { plinth } from '../../support/command.js';
import { folderOf } from '../../support/folder.js';
import { testDatabase, undeclaredDatabase } from '../../support/service.js';
import t from '../../support/test.js';

t.test('a command on a database without the table of a collection names what is missing', async (t) => {
  const cwd = folderOf(t, { 'gadgets.json': { type: 'object', properties: { name: { type: 'string' } } } });
  writeFileSync(join(cwd, 'records.ndjson'), '{"name":"a"}\n');
  const MISSING = /^plinth: the database has no table of gadgets: plinth migrate or the start of the service/;
  const NOBODY = 'plinth: there is no user a@example.org\n';
  for (const isEmpty of [false, true])
    for (const [args, code, err] of [
      [['export', 'gadgets'], 1, MISSING],
      [['export'], 1, MISSING],
      [['import', 'gadgets', 'records.ndjson', '--dry-run'], 0, ''],
      [['access', 'explain', 'GET', '/gadgets', '--as', 'a@example.org'], 1, NOBODY],
      [['keys', 'list'], 0, ''],
      [['doctor'], isEmpty ? 0 : 1, ''],
    ] as const) {
      const DATABASE_URL = isEmpty ? await testDatabase(t, true) : await undeclaredDatabase(t);
      const run = await plinth(t, args, { DATABASE_URL, COLLECTIONS: cwd, MIGRATE: 'check' }, { cwd });
      t.match(run, { code, err }, `${args.join(' ')} ${isEmpty}`);
      if (args[0] === 'export') t.equal(run.out, '', 'nothing looks like an export');
      if (args[0] === 'doctor' && !isEmpty) t.match(run.out, /the tables do not match the declarations/);
    }
});
