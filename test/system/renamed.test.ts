import { readdirSync, readFileSync } from 'node:fs';
import { COPY, RUN_ONCE, RUN_TWICE } from '../support/renamed.js';
import t from '../support/test.js';

const DIST = new URL('../', import.meta.url);

const namesIn = (folder: string) =>
  readdirSync(new URL(folder, DIST))
    .filter((file) => file.endsWith('.test.js'))
    .map((file) => file.slice(0, -'.test.js'.length));

t.test('every test of the API runs with other names, or is about something else', async (t) => {
  const all = ['api', 'events', 'features/webhooks'].flatMap((folder) =>
    namesIn(folder).map((name) => `${folder}/${name}`),
  );
  const twice = RUN_TWICE.filter((file) => all.includes(file));
  t.same([...Object.keys(RUN_ONCE), ...twice].sort(), all.sort());
});

t.test('the other names are everywhere', async (t) => {
  const folder = readdirSync(`${COPY}/collections`).sort();
  t.same(folder, ['memos.json', 'people.json', 'wares.json']);
  for (const file of RUN_TWICE) {
    const text = readFileSync(`${COPY}/${file}.test.js`, 'utf8');
    t.notMatch(text, /\b(users|userId|user_id|USER_NOT_FOUND|items|posts)\b/, file);
  }
});

t.test('the second run has no collections besides the declared ones and the one of sign-in', async (t) => {
  const { freshService } = (await import(
    `${COPY}/support/service.js`
  )) as typeof import('../support/service.js');
  const { collections, db } = await freshService(t);
  t.same(collections.map(({ resource }) => resource.name).sort(), ['memos', 'people', 'users', 'wares']);
  t.same(await db.run("select to_regclass('items') as items, to_regclass('posts') as posts", []), [
    { items: null, posts: null },
  ]);
});
