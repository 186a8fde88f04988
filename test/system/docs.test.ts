import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { blocksOf, headingsOf, runPage } from '../support/page-commands.js';
import { send, testDatabase, undeclaredDatabase } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { some } from '../support/thorough.js';

t.jobs = 2;

type Options = NonNullable<Parameters<typeof runPage>[2]>;

const nothing = async () => ({});

/** Recipes need nothing of each other. */
const [BEGIN, ...RECIPES] = headingsOf('docs/recipes.md');

/** The options that the commands of each page need besides the project. */
const PAGES: Readonly<Record<string, Options>> = {
  'docs/access.md': {},
  'docs/accounts.md': {},
  'docs/api.md': { prepare: nothing },
  'docs/authentication.md': {},
  'docs/authorization-server.md': {},
  'docs/backup.md': { prepare: nothing, isMigrated: true },
  'docs/changelog.md': {},
  'docs/command.md': {},
  'docs/configuration.md': { env: { ALLOWED_HOSTS: 'localhost' } },
  'docs/deployment.md': {},
  'docs/events.md': { prepare: nothing },
  'docs/high-availability.md': {},
  'docs/import.md': {
    copied: [],
    files: {
      'db.json':
        '{"authors": [{"id": 1, "name": "Ann"}], "books": [{"id": 7, "title": "Dune", "authorId": 1}]}',
      'books.ndjson': '{"title": "Solaris"}\n',
    },
  },
  'docs/jobs.md': { prepare: nothing },
  'docs/keys.md': {},
  'docs/lists.md': { prepare: nothing },
  'docs/mcp.md': {},
  'docs/operations.md': {},
  // An error is what some of its commands print.
  'docs/recipes.md': {
    headings: [BEGIN!, ...some(RECIPES, 2)],
    copied: [],
    strict: false,
    env: { MIGRATE: 'auto' },
  },
  'docs/versions.md': {
    prepare: async (url) => {
      for (const [name, price] of [
        ['Desk lamp', 49.5],
        ['Chair', 20],
        ['Pen', 1],
      ])
        await send(url, 'POST', '/items', { body: { name, price } });
      return {};
    },
  },
  'docs/webhooks.md': { prepare: nothing },
  'docs/writes.md': {
    prepare: async (url) => {
      const user = await send(url, 'POST', '/users', { body: { email: 'ann@example.org', name: 'Ann' } });
      const item = await send(url, 'POST', '/items', { body: { name: 'Desk' } });
      return { USER_ID: user.json.id, ITEM_ID: item.json.id };
    },
  },
};

t.test('every page with commands is run', async (t) => {
  const docs = fileURLToPath(new URL('../../../docs/', import.meta.url));
  const pages = readdirSync(docs)
    .filter((name) => name.endsWith('.md') && name !== 'tutorial.md' && name !== 'many-to-many.md')
    .map((name) => `docs/${name}`)
    .filter((page) => blocksOf(page).some(({ language }) => ['sh', 'properties'].includes(language)));
  t.same(pages.sort(), Object.keys(PAGES).sort());
});

for (const [page, options] of Object.entries(PAGES)) {
  t.test(`every command of ${page} works as printed`, async (t: Test) => {
    // The commands of docs/backup.md are about the embedded database. The README begins with an empty one.
    const declared = options.copied?.length === 0 ? undeclaredDatabase : testDatabase;
    const database = options.isMigrated ? {} : { databaseUrl: await declared(t) };
    const copied = ['package.json', 'collections', 'docs/clients'];
    await runPage(t, page, { copied, ...database, strict: true, ...options });
  });
}
