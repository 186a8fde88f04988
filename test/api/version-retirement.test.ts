import { freshService } from '../support/service.js';
import t from '../support/test.js';

t.jobs = 2;

const PAST = '2026-01-01T00:00:00Z';
const FUTURE = '2999-01-01T00:00:00Z';
const V1 = { V1_DEPRECATION: PAST };

t.test('each version retires by itself', async (t) => {
  const paths = { 1: '/items', 2: '/api/v2/items' } as const;
  for (const [version, other] of [
    [1, 2],
    [2, 1],
  ] as const) {
    const retiring = (deprecation: Date | undefined, sunset: Date) =>
      freshService(t, {}, { retirement: { [version]: { deprecation, sunset, successor: '/next' } } });
    const { send } = await retiring(new Date(PAST), new Date(FUTURE));
    const { headers } = await send('GET', paths[version]);
    t.match(headers, { deprecation: '@1767225600', sunset: 'Tue, 01 Jan 2999 00:00:00 GMT' });
    t.match(headers.link, '</next>; rel="successor-version"');
    const unaffected = await send('GET', paths[other]);
    t.same(
      [unaffected.status, unaffected.headers.deprecation, unaffected.headers.sunset],
      [200, undefined, undefined],
    );
    const gone = await retiring(undefined, new Date(PAST));
    const response = await gone.send('GET', paths[version]);
    t.equal(response.status, 410);
    t.match(response.text, 'VERSION_SUNSET');
    t.equal((await gone.send('GET', paths[other])).status, 200);
    t.equal(/problem/.test(response.headers['content-type']!), version === 2);
  }
});

t.test('the requests for each version are counted', async (t) => {
  const { send } = await freshService(t, V1);
  await send('GET', '/items');
  await send('GET', '/api/v1/items');
  await send('GET', '/items', { headers: { 'api-version': '2' } });
  const { text } = await send('GET', '/api/v2/metrics');
  t.match(text, /^http_server_version_requests_total\{version="1"\} 2$/m);
  t.match(text, /^http_server_version_requests_total\{version="2"\} 2$/m, 'the scrape included');
});

t.test('the successor of version 1 is version 2', async (t) => {
  const { send } = await freshService(t, V1);
  t.equal((await send('GET', '/items')).headers.link, '</api/v2>; rel="successor-version"');
  const { headers } = await send('GET', '/items', { headers: { 'api-version': '2' } });
  t.notMatch(headers.link, 'successor-version');
});

t.test('a version whose deprecation has not begun says nothing of its sunset', async (t) => {
  const { send } = await freshService(t, { V1_DEPRECATION: '2998-01-01T00:00:00Z', V1_SUNSET: FUTURE });
  const { status, headers } = await send('GET', '/items');
  t.same([status, headers.deprecation, headers.sunset], [200, undefined, undefined]);
});

t.test('health, metrics and explanations of errors respond after the sunset', async (t) => {
  const gone = await freshService(t, { V1_SUNSET: PAST });
  t.equal((await gone.send('GET', '/items')).status, 410);
  t.equal((await gone.send('POST', '/items', { body: { name: 'x' } })).status, 410);
  for (const path of ['/healthz', '/readyz', '/metrics', '/errors'])
    t.equal((await gone.send('GET', path)).status, 200, path);
});
