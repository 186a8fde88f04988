import { noBrowser, openPage } from '../../support/chromium.js';
import t from '../../support/test.js';
import { tracker } from './collections.js';

t.test('a name that is refused can be replaced by a choice or by another name', async (t) => {
  const { service, visitor, make, project } = await tracker(t);
  const twice = [await make('/projects', { name: 'Twice' }), await make('/projects', { name: 'Twice' })];
  const entered = { '/title': 'x', '/projectId': 'Checkout' };
  const refused = await visitor.create(t, '/issues', { ...entered, '/projectId': 'redesign checkout' });
  t.match(refused.text, 'choose one, or enter another name.');
  t.match(refused.text, /name="\/projectId"[^>]* value="redesign checkout"/, 'what was entered remains');
  t.match(refused.text, /<option selected><\/option><option value="[^"]*">Checkout redesign<\/option>/);
  const submit = (page: typeof refused, values: object) => visitor.submit(t, page, 'Create', { ...values });
  const again = await submit(refused, {});
  t.equal(again.status, 400, 'nothing is chosen before a person does');
  const key = '_as /projectId redesign checkout';
  const faulty = await submit(refused, { [key]: project.id, '/priority': '9' });
  t.match(faulty.text, new RegExp(`<option value="${project.id}" selected>`), 'a choice remains');
  const projectOf = async (page: typeof refused) =>
    (await service.send('GET', page.headers.location!.split('?')[0]!)).json.projectId;
  t.equal(await projectOf(await submit(faulty, { '/priority': '1' })), project.id);
  const fresh = await visitor.create(t, '/issues', { ...entered, '/projectId': 'redesign checkout' });
  const other = await submit(fresh, { [key]: project.id, '/projectId': 'Blog <b>' });
  t.not(await projectOf(other), project.id, 'another name counts more than the choice for the first one');

  const several = await visitor.create(t, '/issues', { ...entered, '/projectId': 'Twice' });
  const of = { '_as /projectId Twice': twice[1].id };
  t.equal(await projectOf(await submit(several, of)), twice[1].id);
  const none = await submit(several, { '_as /projectId Twice': project.id });
  t.equal(none.status, 400, 'a record that has not been offered is none');
});

for (const javaScriptEnabled of [true, false])
  t.test(`near names in a browser, scripts ${javaScriptEnabled}`, { skip: noBrowser }, async (t) => {
    const { service, make } = await tracker(t);
    await make('/projects', { name: 'Product search' });
    const page = await openPage(t, service.url, { javaScriptEnabled });
    await page.goto('/issues?_new');
    const enter = async (title: string) => {
      await page.locator('#new-title').fill(title);
      await page.locator('#new-projectId').fill('Product');
      await page.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('alert').waitFor();
      t.equal(await page.locator('#new-projectId').inputValue(), 'Product');
      t.equal(await page.getByLabel('Project instead of “Product”').inputValue(), '', 'nothing is chosen');
    };
    await enter('first');
    await page.getByLabel('Project instead of “Product”').selectOption('Product search');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('Created.').waitFor();
    await page.goto('/issues?_new');
    await enter('second');
    await page.locator('#new-projectId').fill('Checkout redesign');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('Created.').waitFor();
    t.match(await page.locator('main').innerText(), /second[\s\S]*Checkout redesign/);
  });

t.test('the headers of a list have one line, sortable or not', { skip: noBrowser }, async (t) => {
  const { service, make, issue } = await tracker(t);
  await make('/notes', { issueId: issue.id, text: 'Seen' });
  const page = await openPage(t, service.url, { width: 1280 });
  for (const path of ['/notes?page=1', '/issues']) {
    await page.goto(path);
    const bottoms = await page.evaluate<number[]>(`[...document.querySelectorAll('thead th')].map((each) => {
      const range = document.createRange();
      range.selectNode(each.querySelector('a')?.firstChild ?? each.firstChild);
      return Math.round(10 * range.getBoundingClientRect().bottom) / 10;
    })`);
    t.ok(bottoms.length > 1);
    t.same([...new Set(bottoms)], [bottoms[0]], path);
  }
});
