import { NAMES, serviceWithThings } from '../../support/peculiar-fields.js';
import t from '../../support/test.js';
import { linksOf, PageVisitor } from './visitor.js';

t.test('the forms and links of a page produce requests that are accepted', async (t) => {
  const service = await serviceWithThings(t);
  const visitor = new PageVisitor(service);
  const page = await visitor.get('/things');
  const filters = await visitor.get('/things?_filter');
  const unescaped = (text: string) =>
    text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
  const form = /<form class="edit"[\s\S]*?<\/form>/.exec(filters.text)![0];
  const inputs = [...form.matchAll(/<input type="(?:text|search)"[^>]* name="([^"]*)"/g)].map(([, name]) =>
    unescaped(name!),
  );
  t.equal(inputs.length, NAMES.length);
  for (const [index, input] of inputs.entries()) {
    const filtered = await visitor.get(`/things?${new URLSearchParams({ [input]: 'v1' })}`);
    t.equal(filtered.status, 200, input);
    t.equal(filtered.text.match(/<tr>/g)?.length, 2, `one record by ${NAMES[index]}`);
    t.match(filtered.text, 'aria-label="Remove the filter', `the filter by ${NAMES[index]} is shown`);
  }
  const heads = linksOf(page.text).filter((href) => href.includes('sort='));
  const [, options = ''] = /<select id="filter-sort"[^>]*>([\s\S]*?)<\/select>/.exec(filters.text) ?? [];
  const sorts = [...options.matchAll(/value="([^"]*)"/g)].map(
    ([, value]) => `/things?${new URLSearchParams({ sort: unescaped(value!), order: 'asc' })}`,
  );
  t.ok(sorts.length > NAMES.length / 2, `${sorts.length} orders`);
  for (const href of [...heads, ...sorts]) t.equal((await visitor.get(href)).status, 200, href);
  const values = Object.fromEntries(
    NAMES.map((name) => [
      `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`.replaceAll('\n', '\r\n'),
      'text',
    ]),
  );
  const created = await visitor.create(t, '/things', values);
  t.equal(created.status, 303);
  const { json } = await service.send('GET', created.headers.location!.split('?')[0]!);
  t.same(
    NAMES.filter((name) => json[name] !== 'text'),
    [],
  );
});
