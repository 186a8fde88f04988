import type { Page } from 'playwright-core';
import { noBrowser, openPage } from '../../support/chromium.js';
import { declare } from '../../support/collections.js';
import { startPlinth } from '../../support/command.js';
import { makeKey, PASSWORD } from '../../support/credentials.js';
import { whenEventsAreFinal } from '../../support/final-events.js';
import { undeclaredDatabase } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { some } from '../../support/thorough.js';
import { northwind, recipes } from './offices.js';

/** A person at a page, who knows no documentation and no id. Each click and each choice is counted. */
class Person {
  clicks = 0;

  constructor(readonly page: Page) {}

  /** A collection of the navigation, which on narrow screens is behind a menu. */
  async go(name: string): Promise<void> {
    const menu = this.page.getByRole('link', { name: 'Menu' });
    if (await menu.isVisible()) await menu.click();
    await this.#click(this.page.locator('#menu').getByRole('link', { name: new RegExp(`^${name}( |$)`) }));
  }

  link = (name: string) => this.#click(this.page.locator('main').getByRole('link', { name }).first());
  press = (name: string) => this.#click(this.page.getByRole('button', { name }).first());
  check = (name: string) => this.#click(this.page.getByLabel(name, { exact: true }).first());

  async choose(label: string, option: string): Promise<void> {
    this.clicks++;
    await this.page.getByLabel(label).first().selectOption(option);
  }

  type = (label: string, text: string) => this.page.getByLabel(label).first().fill(text);
  read = (text: string | RegExp) => this.page.locator('main').getByText(text).first().waitFor();
  titles = () => this.page.locator('tbody th[scope=row]').allInnerTexts();

  async #click(control: ReturnType<Page['locator']>): Promise<void> {
    this.clicks++;
    await control.click();
    await this.page.waitForLoadState();
  }
}

const VIEWS = some(
  [1280, 390].flatMap((width) => [true, false].map((javaScriptEnabled) => ({ width, javaScriptEnabled }))),
  1,
);
const today = new Date().toISOString().slice(0, 10);

/** Does a task in so many clicks at most, besides those on the menu of a narrow screen. */
async function does(
  t: Test,
  page: Page,
  [task, max]: readonly [string, number],
  work: (person: Person) => Promise<void>,
): Promise<void> {
  const person = new Person(page);
  await page.goto('/');
  await work(person);
  t.comment(`${task}: ${person.clicks} clicks`);
  t.ok(person.clicks <= max, `${task}: ${person.clicks} clicks`);
}

t.test('tasks on Northwind', { skip: noBrowser }, async (t) => {
  const { open, admin, member } = await northwind(t);
  const wide = await open(admin.email, { width: 1280 });
  await wide.goto('/orders');
  const rest =
    '(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector(".scroll"))';
  t.equal(await wide.evaluate(rest), 0, 'all columns are seen');
  for (const view of VIEWS)
    for (const user of [admin, member]) {
      const page = await open(user.email, view);
      await does(t, page, ['find an order by the name of its customer', 4], async (person) => {
        await person.go('Orders');
        await person.link('Filter');
        await person.type('Customer contains', 'vins et');
        await person.press('Show');
        await person.read('5 orders');
        await person.link('Vins et alcools Chevalier');
        await person.read('59 rue de l');
      });
      await does(t, page, ['export what is shown', 5], async (person) => {
        await person.go('Orders');
        await person.link('Filter');
        await person.type('Customer contains', 'vins et');
        await person.press('Show');
        person.clicks++;
        await page.locator('summary', { hasText: 'Export' }).click();
        const download = page.waitForEvent('download');
        await person.link('for a spreadsheet');
        const chunks: Buffer[] = [];
        for await (const chunk of await (await download).createReadStream()) chunks.push(chunk as Buffer);
        const lines = Buffer.concat(chunks).toString().trim().split('\r\n');
        t.equal(lines.length, 6, 'all that match');
        t.match(lines[1], 'VINS ET ALCOOLS CHEVALIER', 'names');
      });
    }
});

t.test('tasks in the tracker', { skip: noBrowser }, async (t) => {
  const { open, admin, member, make, service } = await recipes(t);
  const team = await make('/teams', { name: 'Web' });
  await make('/memberships', { teamId: team.id, userId: member.id, role: 'member' });
  const hidden = await make('/teams', { name: 'Hidden team' });
  await make('/projects', { name: 'Hidden project', teamId: hidden.id });
  const project = await make('/projects', { name: 'Checkout redesign', teamId: team.id });
  const other = await make('/projects', { name: 'Push notifications', teamId: team.id });
  for (let at = 0; at < 12; at++)
    await make('/issues', {
      title: `Issue ${at}`,
      projectId: (at % 2 === 0 ? project : other).id,
      status: at % 3 === 0 ? 'closed' : 'open',
      dueOn: at < 6 ? today : '2020-01-01',
    });
  for (let at = 0; at < 5; at++) await make('/issues', { title: `Bulk ${at}`, projectId: other.id });
  let round = 0;
  for (const view of VIEWS)
    for (const user of [admin, member]) {
      const page = await open(user.email, view);
      const title = `Labels print at half size ${++round}`;
      await does(t, page, ['open issues of a project that are due this week', 6], async (person) => {
        await person.go('Issues');
        await person.link('Filter');
        await person.check('open');
        await person.check('Checkout redesign');
        await person.choose('Due on: days', 'this week');
        await person.press('Show');
        await person.read('2 issues');
        t.same((await person.titles()).sort(), ['Issue 2', 'Issue 4']);
        t.match(await page.locator('main').innerText(), /Checkout redesign[\s\S]*20\d\d/);
      });
      await does(t, page, ['create an issue in a project, by name', 3], async (person) => {
        await person.go('Issues');
        await person.link('New issue');
        await person.type('Title', title);
        await person.type('Project', user === member ? 'Checkout redesign' : 'checkout');
        await person.press('Create issue');
        if (user === admin) {
          person.clicks -= 2;
          await person.choose('Project instead of', 'Checkout redesign');
          await person.press('Create issue');
        }
        await person.read('Created.');
      });
      await does(t, page, ['edit, and resolve a conflict', 6], async (person) => {
        await person.go('Issues');
        await person.link(title);
        await person.link('Edit');
        await person.type('Title', `${title} mine`);
        await person.choose('Status', 'closed');
        const path = new URL(page.url()).pathname;
        const rival = await open(user === admin ? member.email : admin.email);
        await rival.goto(`${path}?_edit`);
        await rival.getByLabel('Title').fill(`${title} theirs`);
        await rival.getByRole('button', { name: 'Save' }).click();
        await rival.getByText('Saved.').waitFor();
        await whenEventsAreFinal(service);
        await person.press('Save');
        await person.read(user === admin ? /^Ben Example changed/ : /^Ada Admin changed/);
        await person.press('Save');
        await person.read('Saved.');
        await person.read(`${title} mine`);
      });
      await does(t, page, ['read who changed a record', 2], async (person) => {
        await person.go('Issues');
        await whenEventsAreFinal(service);
        await person.link(`${title} mine`);
        const changes = await page.locator('.changes').innerText();
        t.match(changes, user === admin ? 'Ben Example updated' : 'Ada Admin updated');
        t.match(changes, 'You');
      });
      await does(t, page, ['edit five records at once', 10], async (person) => {
        await person.go('Issues');
        for (const at of [0, 1, 2, 3, 4]) await person.check(`Choose Bulk ${at}`);
        await person.read(view.javaScriptEnabled ? '5 chosen' : 'Change chosen issues together');
        await person.choose('Set', 'Status');
        await person.press('Edit…');
        await person.choose('Status', user === admin ? 'closed' : 'open');
        await person.press('Change 5 issues');
        await person.read('Saved.');
        const rows = await page.locator('tr', { hasText: 'Bulk' }).allInnerTexts();
        t.equal(rows.filter((row) => row.includes(user === admin ? 'closed' : 'open')).length, 5);
      });
    }
});

t.test('tasks of administrators', { skip: noBrowser }, async (t) => {
  const { open, admin, member, make, service } = await recipes(t);
  await make('/teams', { name: 'Web' });
  for (const view of VIEWS) {
    const page = await open(admin.email, view);
    const name = `Cleo ${view.width} ${view.javaScriptEnabled}`;
    await does(t, page, ['invite a colleague', 7], async (person) => {
      await person.go('Users');
      await person.link('New user');
      await person.type('Name', name);
      await person.type('Email', `${name.replaceAll(' ', '.')}@example.org`);
      await person.type('Password', PASSWORD);
      await person.press('Create user');
      await person.read('Created.');
      await person.go('Memberships');
      await person.link('New membership');
      await person.type('Team', 'Web');
      await person.type('User', name);
      await person.choose('Role', 'member');
      await person.press('Create membership');
      await person.read('Created.');
      await person.read(name);
    });
    await makeKey(service.db, { subject: member.id, scopes: ['self'], label: name });
    await does(t, page, ['revoke an API key', 4], async (person) => {
      await person.go('Keys');
      await person.link(name);
      await person.link('Revoke…');
      await person.press('Revoke this key');
      await person.read('Revoked.');
      t.notMatch(await page.locator('main').innerText(), name);
    });
  }
  const page = await open(member.email);
  await page.goto('/');
  t.equal(await page.getByRole('link', { name: 'Declare a collection' }).count(), 0);
  t.equal(await page.locator('#menu').getByRole('link', { name: 'Keys' }).count(), 0);
});

t.test('add a field to a collection', { skip: noBrowser }, async (t) => {
  const COLLECTIONS = declare(t, {
    'books.json': { title: 'Book', type: 'object', properties: { name: { type: 'string' } } },
  });
  const DATABASE_URL = await undeclaredDatabase(t);
  const started = startPlinth(t, ['serve', '--watch'], {
    COLLECTIONS,
    DATABASE_URL,
    MIGRATE: 'auto',
    PORT: '0',
  });
  const url = await started.ready();
  for (const view of VIEWS) {
    const page = await openPage(t, url, view);
    const field = `price${view.width}${view.javaScriptEnabled ? 'x' : ''}`;
    await does(t, page, ['add a field to a collection', 5], async (person) => {
      await person.go('Books');
      await person.link('Declaration');
      await person.type('Name of field', field);
      await person.choose('Type of field', 'Number');
      await person.press('Show the plan');
      await person.press('Apply');
      await person.read('Saved.');
      await page.goto('/books?_new');
      t.equal(await page.locator(`#new-${field}`).count(), 1);
    });
  }
});
