import type { Page } from 'playwright-core';
import { noBrowser, openPage } from '../../support/chromium.js';
import { declare } from '../../support/collections.js';
import { PASSWORD } from '../../support/credentials.js';
import { exampleClients } from '../../support/example-clients.js';
import { COLOUR_RULES, checkPage, SIZE_RULES, type View } from '../../support/page-checks.js';
import { declarationsUnder } from '../../support/page-commands.js';
import { undeclaredDatabase } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { isThorough, some } from '../../support/thorough.js';
import { until } from '../../support/until.js';
import { authorizationServer } from './authorization-server.js';

/** Of short runs one, in which all rules apply. */
const VIEWS: readonly View[] = isThorough
  ? [
      { width: 1280 },
      { width: 1280, colorScheme: 'dark', rules: COLOUR_RULES },
      { width: 390, colorScheme: 'dark', rules: SIZE_RULES },
    ]
  : some([{ width: 1280 }, { width: 390, colorScheme: 'dark' }], 1);

/** The tracker of docs/clients with the declarations of docs/recipes.md, and a function that signs a user in. */
async function tracker(t: Test) {
  const config = new Map<string, string>();
  const origin = await exampleClients(t, config);
  const server = await authorizationServer(t, {
    AUTH: 'bearer',
    AUTH_SERVER: 'on',
    CORS_ORIGINS: origin,
    COLLECTIONS: declare(t, {
      ...declarationsUnder('docs/recipes.md', 'Begin'),
      ...declarationsUnder('docs/recipes.md', 'Teams with roles'),
    }),
    DATABASE_URL: await undeclaredDatabase(t),
  });
  const { issuer } = server;
  const address = `${origin}/tracker/`;
  const { id } = await server.register({
    redirect_uris: [address],
    post_logout_redirect_uris: [address],
    scopes: ['profile', 'self'],
  });
  config.set('/tracker/config.json', JSON.stringify({ service: issuer, client_id: id }));
  const open = async (email: string): Promise<Page> => {
    const page = await openPage(t, origin, { alsoRequests: [issuer] });
    page.on('pageerror', (error) => t.fail(error.message));
    await page.goto(address);
    await press(page, 'Sign in');
    await page.fill('input[name="email"]', email);
    await page.fill('input[name="password"]', PASSWORD);
    await page.click('button[value="sign-in"]');
    await page.click('button[value="allow"]');
    await page.getByRole('status').getByText('Connected.', { exact: true }).waitFor();
    return page;
  };
  return { ...server, address, open };
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const follow = (page: Page, name: string) => page.getByRole('link', { name, exact: true }).first().click();
const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor();

/** Opens a form, fills it in, and waits until it is closed. */
async function submit(page: Page, form: string, values: Readonly<Record<string, string>>, action = 'Create') {
  await press(page, form);
  const dialog = page.getByRole('dialog');
  for (const [label, value] of Object.entries(values)) {
    const field = dialog.getByLabel(label);
    if (['User', 'Role'].includes(label)) await field.selectOption({ label: value });
    else await field.fill(value);
  }
  await dialog.getByRole('button', { name: action, exact: true }).click();
  await until(
    `the form ${form} is closed`,
    () => dialog.isVisible(),
    (isOpen) => !isOpen,
  );
}

const buttonsOf = (page: Page) => page.locator('main:visible button').allTextContents();

const shows = (page: Page, selector: string, ...expected: string[]) =>
  until(
    `${selector} has ${expected}`,
    () => page.locator(selector).allTextContents(),
    (found) => found.join() === expected.join(),
  );

t.test('two users work on the issues of a team, until one is removed', { skip: noBrowser }, async (t) => {
  const { user, addUser, address, open } = await tracker(t);
  await addUser('bob@example.org', 'Bob');
  const ann = await open(user.email);
  await submit(ann, 'New team', { Name: 'Roof' });
  await heading(ann, 'Roof');
  t.same(await buttonsOf(ann), ['New project', 'Rename', 'Delete', 'Add a member'], 'no owner leaves');
  await submit(ann, 'Add a member', { User: 'Bob', Role: 'Guest: reads' }, 'Add');
  await ann.getByLabel('Role of Bob').waitFor();
  await checkPage(t, ann, 'a team', VIEWS);
  await submit(ann, 'New project', { Name: 'Leaks' });
  await heading(ann, 'Leaks');
  await submit(ann, 'New issue', { Title: 'Water in the attic', Text: 'On the boxes.' });
  await submit(ann, 'New issue', { Title: 'Order tiles' });
  await shows(ann, '#issues a', 'Order tiles', 'Water in the attic');
  await checkPage(t, ann, 'a project', VIEWS);

  const bob = await open('bob@example.org');
  await follow(bob, 'Leaks');
  await shows(bob, '.tab', 'open 2', 'closed 0', 'all 2');
  t.same(await buttonsOf(bob), [], 'a guest only reads');
  await follow(bob, 'Water in the attic');
  await heading(bob, 'Water in the attic');
  t.same(await buttonsOf(bob), []);

  await follow(ann, 'Roof');
  await ann.getByLabel('Role of Bob').selectOption('member');
  await bob.getByRole('button', { name: 'Edit' }).waitFor();
  t.same(await buttonsOf(bob), ['Edit', 'Close', 'Add'], 'what a member may do appears by itself');
  await bob.getByLabel('Comment').fill('A draft');
  await follow(ann, 'Leaks');
  await follow(ann, 'Water in the attic');
  await ann.getByLabel('Comment').fill('Bring a bucket');
  await press(ann, 'Add');
  await shows(bob, '#comments .text', 'Bring a bucket');
  t.equal(await bob.getByLabel('Comment').inputValue(), 'A draft', 'an event does not remove what is typed');
  t.notOk((await buttonsOf(bob)).includes('Delete'), 'nor shows how to delete the comment of another user');
  await press(bob, 'Add');
  await shows(ann, '#comments .text', 'Bring a bucket', 'A draft');
  t.same(await buttonsOf(ann), ['Edit', 'Close', 'Delete', 'Delete', 'Delete', 'Add']);
  t.same(await buttonsOf(bob), ['Edit', 'Close', 'Delete', 'Add']);
  await checkPage(t, ann, 'an issue', VIEWS);

  await press(bob, 'Edit');
  await press(ann, 'Close');
  await shows(ann, 'main .badge', 'closed');
  await bob.getByRole('dialog').getByLabel('Title').fill('Mine');
  await press(bob, 'Save');
  await bob.getByRole('dialog').getByText('Another user has changed this meanwhile').waitFor();
  await press(bob, 'Cancel');
  await follow(bob, 'Leaks');
  await shows(bob, '.tab', 'open 1', 'closed 1', 'all 2');
  await shows(bob, '#issues a', 'Order tiles');
  await follow(bob, 'all 2');
  await bob.getByLabel('Search titles').fill('attic');
  await bob.getByLabel('Search titles').press('Enter');
  await shows(bob, '#issues a', 'Water in the attic');
  await shows(bob, '.tab', 'open 0', 'closed 1', 'all 1');

  await follow(ann, 'Roof');
  await press(ann, 'Remove');
  await heading(bob, 'Not here');
  await shows(bob, '.place');
  await follow(ann, 'Leaks');
  await submit(ann, 'New issue', { Title: 'A secret' });
  await shows(ann, '#issues a', 'A secret', 'Order tiles');
  await follow(bob, 'Tracker');
  await heading(bob, 'Your teams');
  t.notMatch(await bob.locator('body').innerText(), /Roof|Leaks|secret|tiles/);

  await press(bob, 'Sign out');
  await press(bob, 'Sign out');
  await bob.getByRole('button', { name: 'Sign in' }).waitFor();
  t.equal(bob.url(), address);
  await checkPage(t, bob, 'the sign-in', VIEWS);
});
