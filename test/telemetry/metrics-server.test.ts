import { showMetrics } from '../../src/api/service-endpoints.js';
import { combined } from '../../src/features/workers/combined-metrics.js';
import type { Request } from '../../src/http/request.js';
import { exposition, type FamilyValues } from '../../src/telemetry/exposition.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { makeKey } from '../support/credentials.js';
import { freshService, send } from '../support/service.js';
import t from '../support/test.js';
import { until } from '../support/until.js';
import { parseScrape, scrape } from './scraped.js';

t.test('/metrics of the service itself needs the scope admin', async (t) => {
  const { send, db } = await freshService(t, { AUTH: 'api-key', MAINTENANCE: 'on' });
  const [admin, reader] = [
    await makeKey(db, { scopes: ['admin'] }),
    await makeKey(db, { scopes: ['users:read'] }),
  ];
  t.equal((await send('GET', '/metrics')).status, 401);
  t.equal((await send('GET', '/metrics', { headers: { 'x-api-key': reader.key } })).status, 403);
  const response = await send('GET', '/metrics', { headers: { 'x-api-key': admin.key } });
  t.equal(response.status, 200, 'in maintenance as well');
  t.equal(response.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  t.ok(parseScrape(response.text).length > 50);
  const refused = parseScrape(response.text).filter(({ labels }) => labels.route === '/metrics');
  t.same([...new Set(refused.map(({ labels }) => labels.status).filter(Boolean))].sort(), ['401', '403']);
});

t.test('where everybody may do everything, it is open as all else', async (t) => {
  const { send } = await freshService(t);
  t.equal((await send('GET', '/metrics')).status, 200);
});

t.test('with METRICS_PORT they have a listener of their own, with nothing else', async (t) => {
  const { url, metricsUrl, ...service } = await freshService(t, { AUTH: 'api-key', METRICS_PORT: '0' });
  const get = (path: string, method = 'GET', headers = {}) => send(metricsUrl!, method, path, { headers });
  t.equal((await service.send('GET', '/metrics')).status, 404, 'and the service has none');
  t.equal((await get('/metrics')).status, 200, 'without a credential');
  const head = await get('/metrics', 'HEAD');
  t.same([head.status, head.text], [200, '']);
  t.ok(Number(head.headers['content-length']) > 1000);
  for (const path of ['/', '/users', '/healthz', '/metrics/x']) t.equal((await get(path)).status, 404, path);
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
    const response = await get('/metrics', method);
    t.same([response.status, response.headers.allow], [405, 'GET, HEAD'], method);
  }
  const prometheus =
    'application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
  t.match(
    (await get('/metrics', 'GET', { accept: prometheus })).headers['content-type'],
    /^text\/plain; version=0.0.4/,
  );
  const { samples } = await scrape(metricsUrl!);
  const routes = new Set(samples.map(({ labels }) => labels.route).filter(Boolean));
  t.same([...routes], ['unmatched'], 'what is requested here is not counted there');
});

t.test('scrapes at the same time share one response', async (t) => {
  const { metricsUrl } = await freshService(t, { METRICS_PORT: '0' });
  const responses = await Promise.all(Array.from({ length: 20 }, () => send(metricsUrl!, 'GET', '/metrics')));
  for (const { status, text } of responses) {
    t.equal(status, 200);
    t.ok(parseScrape(text).length > 50);
  }
});

t.test('the registries of several processes add up', async (t) => {
  const [one, two] = [createMetrics(), createMetrics()];
  for (const { http } of [one, two, two]) {
    http.duration.of('GET', '/users', '200').observe(0.002);
    http.active.value++;
  }
  // Between processes they are JSON.
  const processes = await Promise.all(
    [one, two].map(async ({ scrape }) => JSON.parse(JSON.stringify(await scrape()))),
  );
  const shown = await showMetrics(async () => combined(processes)).run({} as Request);
  const text = shown.body!;
  const value = (name: string, labels = {}) =>
    parseScrape(text).find(
      (sample) =>
        sample.name === name && Object.entries(labels).every(([key, label]) => sample.labels[key] === label),
    )?.value;
  t.equal(value('http_server_request_duration_seconds_count', { route: '/users' }), 3);
  t.equal(value('http_server_request_duration_seconds_bucket', { le: '0.0025' }), 3);
  t.equal(value('http_server_request_duration_seconds_bucket', { le: '0.001' }), 0);
  t.equal(value('http_server_active_requests'), 3);
  t.ok(value('process_resident_memory_bytes')! > 1.5 * process.memoryUsage().rss, 'memory is added up');
  t.equal(value('nodejs_version_info', { version: process.version }), 1, 'and other values are not');
});

t.test('the text format of Prometheus', async (t) => {
  const family = (name: string, samples: FamilyValues['samples']): FamilyValues => ({
    name,
    help: 'A "value"\nwith \\',
    type: 'gauge',
    samples,
  });
  const text = exposition([
    family('found', [
      { labels: { a: 'x Nan' }, value: Number.NaN },
      { labels: { a: 'y' }, value: Number.POSITIVE_INFINITY },
      { labels: { a: 'z', b: 'a"b\\c\n' }, value: Number.NEGATIVE_INFINITY },
      { labels: {}, value: 1e-7, metricName: 'found_sum' },
    ]),
    family('empty', []),
  ]);
  t.same(text.split('\n'), [
    '# HELP found A "value"\\nwith \\\\',
    '# TYPE found gauge',
    'found{a="x Nan"} NaN',
    'found{a="y"} +Inf',
    'found{a="z",b="a\\"b\\\\c\\n"} -Inf',
    'found_sum 1e-7',
    '',
    '# HELP empty A "value"\\nwith \\\\',
    '# TYPE empty gauge',
    '',
  ]);
  t.equal(parseScrape(text.replace('+Inf', '1').replace('NaN', '1').replace('-Inf', '1')).length, 4);
});

t.test('metrics of the process, which are measured from the first scrape on', async (t) => {
  const { metricsUrl } = await freshService(t, { METRICS_PORT: '0' });
  const { value: at } = await scrape(metricsUrl!);
  for (const name of [
    'process_cpu_user_seconds_total',
    'process_cpu_system_seconds_total',
    'process_cpu_seconds_total',
    'process_start_time_seconds',
    'nodejs_heap_size_total_bytes',
    'nodejs_heap_size_used_bytes',
    'nodejs_external_memory_bytes',
    ...(process.platform === 'linux' ? ['process_open_fds'] : []),
  ])
    t.ok(at(name)! > 0, name);
  t.ok(Math.abs(at('process_start_time_seconds')! * 1000 - Date.now()) < 3_600_000, 'in Unix time');
  // The first scrape begins the measurements of the event loop.
  const lags = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'];
  await until('the event loop is measured', async () => {
    const { value } = await scrape(metricsUrl!);
    return lags.every((name) => value(`nodejs_eventloop_lag_${name}_seconds`) !== undefined);
  });
});
