import { runPage } from '../support/page-commands.js';
import { undeclaredDatabase } from '../support/service.js';
import t from '../support/test.js';

t.jobs = 2;

t.test('every command of the README works as printed, in order, and prints what it says', async (t) => {
  const url = await runPage(t, 'README.md', { copied: ['package.json', 'collections'] });
  t.equal((await fetch(`${url}/notes`)).status, 401);
});

t.test('and every command of the tutorial, from an empty folder', async (t) => {
  const url = await runPage(t, 'docs/tutorial.md');
  t.equal((await fetch(`${url}/authors`)).status, 200);
});

t.test('and every command of the page about relations of many records with many', async (t) => {
  await runPage(t, 'docs/many-to-many.md', {
    databaseUrl: await undeclaredDatabase(t),
    env: { MIGRATE: 'auto' },
  });
});
