import { noBrowser, openPage } from '../../support/chromium.js';
import { COLOUR_RULES, checkPage, type View } from '../../support/page-checks.js';
import { type TestService, testService } from '../../support/service.js';
import t from '../../support/test.js';
import { some } from '../../support/thorough.js';
import { serviceWithTasks } from './collections.js';
import { NAUGHTY } from './naughty.js';

/** The style has two boundaries of widths, and two sets of colours. All rules apply at each width. */
const VIEWS: readonly View[] = some(
  [
    { width: 320, colorScheme: 'dark' },
    { width: 390, colorScheme: 'light' },
    { width: 768, colorScheme: 'dark' },
    { width: 1280, colorScheme: 'light' },
    { width: 1280, colorScheme: 'dark', rules: COLOUR_RULES },
    { width: 390, colorScheme: 'dark', rules: COLOUR_RULES },
  ],
  2,
);

async function filled(service: TestService): Promise<{ task: string }> {
  const item = (await service.send('POST', '/items', { body: { name: 'Lamp', price: 3 } })).json;
  const body = { title: 'Task', state: 'open', effort: 3, itemId: item.id, kinds: ['bug'] };
  return { task: (await service.send('POST', '/tasks', { body })).json.id };
}

t.test('pages in a browser', { skip: noBrowser }, async (t) => {
  const service = await serviceWithTasks(t);

  t.test('a record is created, changed and deleted with the keyboard alone, without scripts', async (t) => {
    const page = await openPage(t, service.url, { width: 768, javaScriptEnabled: false });
    await page.goto('/');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    // The first key skips to the content.
    await page.waitForURL(/#main$/);
    await page.getByRole('link', { name: 'Tasks' }).first().focus();
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'New task' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('#new-title').focus();
    await page.keyboard.type('Paint');
    await page.keyboard.press('Tab');
    await page.keyboard.type('o');
    await page.locator('#new-title').focus();
    await page.keyboard.press('Enter');
    await page.getByText('Created.').waitFor();
    t.equal(
      await page.locator('#menu a[href="/tasks"] small').innerText(),
      '1',
      'the menu counts the record',
    );
    await page.getByRole('link', { name: 'Edit', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.locator('#edit-title').focus();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('Painted');
    await page.keyboard.press('Enter');
    await page.getByText('Saved.').waitFor();
    t.match((await service.send('GET', '/tasks?page=1')).json.data[0], {
      title: 'Painted',
      state: 'open',
      _version: 2,
    });
    await page.getByRole('link', { name: 'Delete…' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Delete this task' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Deleted.').waitFor();
    t.equal((await service.send('GET', '/tasks?page=1')).json.meta.total, 0);
  });

  t.test('axe-core has no findings on an open menu, a conflict and refused entries', async (t) => {
    const { task } = await filled(service);
    const page = await openPage(t, service.url);
    await page.goto('/tasks');
    await page.locator('summary', { hasText: 'Export' }).click();
    // An open menu covers a part of the page.
    await checkPage(t, page, 'menu', VIEWS, { except: '.page :not(.pop a)' });
    await page.goto(`/tasks/${task}?_edit`);
    await service.send('PATCH', `/tasks/${task}`, { body: { title: 'others' } });
    await page.locator('#edit-title').fill('mine');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Stored now').waitFor();
    await checkPage(t, page, 'conflict', VIEWS);
    await page.goto('/tasks?_new');
    await page.locator('#new-title').fill('x');
    await page.locator('#new-state').selectOption('open');
    await page.locator('#new-place').fill('{');
    await page.locator('#new-effort').pressSequentially('12,50');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('alert').waitFor();
    t.equal(await page.locator('#new-effort').inputValue(), '12,50', 'no other number');
    t.match(await page.locator('#new-effort-error').innerText(), 'must be of type number');
    await checkPage(t, page, 'failures', VIEWS);
  });

  t.test('the service reports all faults of a form at once, in no bubble of the browser', async (t) => {
    const page = await openPage(t, service.url);
    await page.goto('/tasks?_new');
    await page.locator('#new-itemId').fill('no such item');
    await page.locator('#new-place').fill('{');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('alert').waitFor();
    for (const field of ['title', 'state', 'itemId', 'place'])
      t.equal(await page.locator(`#new-${field}-error`).count(), 1, field);
    t.equal(await page.locator('#new-title').getAttribute('aria-required'), 'true');
    // A browser submits an incomplete date as an empty one.
    await page.goto('/tasks?_new');
    await page.locator('#new-title').fill('dated');
    await page.locator('#new-state').selectOption('open');
    await page.locator('#new-due').pressSequentially('12');
    await page.getByRole('button', { name: 'Create' }).click();
    const [isIncomplete, focused] = await page.evaluate<[boolean, string]>(
      '[document.querySelector("#new-due").validity.badInput, document.activeElement.id]',
    );
    t.same([isIncomplete, focused], [true, 'new-due']);
    const { json } = await service.send('POST', '/tasks', {
      body: { title: 'lines', state: 'open', extra: 'one\ntwo' },
    });
    await page.goto(`/tasks/${json.id}`);
    t.match(await page.locator('dd', { hasText: 'one' }).innerText(), 'one\ntwo', 'lines of a text stay');
  });

  t.test('a reload of the page with a new secret shows no other one', async (t) => {
    const hooks = await testService(t, { INSECURE: 'webhooks' });
    const page = await openPage(t, hooks.url);
    await page.goto('/webhooks?_new');
    await page.locator('#new-url').fill('https://example.org/hook');
    await page.getByLabel('*', { exact: true }).check();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('it is shown only once').waitFor();
    await page.reload();
    await page.getByText('This form was submitted before.').waitFor();
    t.equal((await hooks.send('GET', '/webhooks')).json.data.length, 1);
  });

  t.test('naughty strings add no element and run nothing', async (t) => {
    const page = await openPage(t, service.url);
    /** The content of the field of the notes, if there is one. */
    const check = async (path: string) => {
      await page.goto(path);
      const [hacked, elements, notes] = await page.evaluate<[unknown, number, string | undefined]>(
        `[window.hacked, document.querySelectorAll("script:not(:last-of-type),img,svg,iframe,base,meta[http-equiv],[onerror],[onfocus],[onload]").length,
        document.querySelector("#edit-notes")?.value]`,
      );
      t.same([hacked, elements], [undefined, 0], path);
      return notes;
    };
    for (const [at, text] of some([...NAUGHTY.entries()], 10)) {
      const body = { title: text.trim().slice(0, 120), state: 'open', notes: text, [text]: { [text]: text } };
      const { json } = await service.send('POST', '/tasks', { body });
      await check(`/tasks/${json.id}`);
      t.equal(await check(`/tasks/${json.id}?_edit`), text.replaceAll('\r\n', '\n'), `string ${at}`);
    }
    await check('/tasks?limit=100');
    await check('/events?limit=1000');
  });
});
