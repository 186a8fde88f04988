import { TERMS } from '../../bench/harness/data.js';
import { parseWrk, scriptOf } from '../../bench/harness/load-wrk.js';
import type { Measured } from '../../bench/harness/measure.js';
import { readOptions } from '../../bench/harness/options.js';
import { parseStat } from '../../bench/harness/proc.js';
import { filler, split } from '../../bench/harness/request.js';
import type { Row } from '../../bench/harness/row.js';
import { type Figures, median, medians } from '../../bench/harness/stats.js';
import { extraOf, listQueryOf, pageOf } from '../../bench/peers/common.js';
import { chart } from '../../bench/report/chart.js';
import { judge, ratioOf } from '../../bench/report/judge.js';
import { type Report, regressions } from '../../bench/report/results.js';
import { table } from '../../bench/report/table.js';
import { growthTable } from '../../bench/suites/growth.js';
import { rowsOf } from '../../bench/suites/rows.js';
import t from '../support/test.js';

const measured = (label: string, median: Figures): Measured => ({ label, rounds: [median], median });

const row = (more: Partial<Row> = {}): Row => ({
  ...rowsOf(1000).find(({ name, connections }) => name === 'get one' && connections === 64)!,
  ...more,
});

t.test('medians', async (t) => {
  t.equal(median([3, 1, 2]), 2);
  t.equal(median([4, 1, 2, 3]), 2.5);
  t.throws(() => median([]), RangeError);
  t.same(medians([{ rate: 1, p50: 5 }, { rate: 3 }, { rate: 2, p50: 7 }]), { rate: 2, p50: 6 });
});

t.test('proc(5): the name in a stat line may hold blanks and parentheses', async (t) => {
  const line = '42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 100 50 30 20 20 0 1 0 99 1000 5';
  t.same(parseStat(line), { parent: 7, cpu: 1.5, endedCpu: 0.5 });
});

t.test('what wrk reports', async (t) => {
  const line = '{"requests":200,"microseconds":2000000,"p50":1500.0,"p99":9000.0,"refused":3,"broken":1}';
  const output = `Running 1s test\n${line}\n`;
  t.same(parseWrk(output, 200), { requests: 200, rate: 100, p50: 1.5, p99: 9, wrong: 4 });
  t.equal(parseWrk(output, 404).wrong, 198, 'where each request is to be refused, other responses are wrong');
  t.throws(() => parseWrk('unable to connect', 200), /unable to connect/);
});

t.test('the script for wrk', async (t) => {
  const load = { url: 'http://127.0.0.1:80', connections: 1, seconds: 1, status: 200, idsFile: '/tmp/ids' };
  const get = scriptOf({ ...load, request: { method: 'GET', path: '/users/{id}', headers: {} } }, 'tag');
  t.match(get, 'return "GET /users/" .. ids[math.random(#ids)] .. " HTTP/1.1\\013\\010host: 127.0.0.1');
  t.match(get, 'io.lines("/tmp/ids")');
  const headers = { 'content-type': 'application/json' };
  const post = scriptOf(
    { ...load, request: { method: 'POST', path: '/users', headers, body: '{"email":"{unique}@x"}' } },
    'tag',
  );
  t.match(post, 'local body = "{\\034email\\034:\\034" .. unique() .. "\\064x\\034}"');
  t.match(post, 'content-length: " .. #body');
  t.notMatch(post, 'io.lines', 'ids are read only where they are used');
});

t.test('the places of a request', async (t) => {
  t.same(split('a{id}b{number}'), { texts: ['a', 'b', ''], placeholders: ['id', 'number'] });
  const next = filler('{unique}/{id}', ['x'], 'tag');
  t.equal(next(), 'tag1/x');
  t.equal(next(), 'tag2/x');
});

t.test('targets are held against medians', async (t) => {
  const result = judge(row(), [
    measured('plinth', { rate: 300, p99: 4, nodeUs: 20, pgUs: 5 }),
    measured('handwritten', { rate: 100, p99: 10, pgUs: 10 }),
  ]);
  t.equal(ratioOf(result, 'plinth'), 3);
  t.same(
    result.verdicts.map(({ value, met }) => [value, met]),
    [
      [3, true],
      [0.4, true],
      [0.5, false],
    ],
    'bare was not measured, so what is compared with it is left out',
  );
  const idle = judge(
    row({ targets: [{ metric: 'idleKb', op: '<', bound: 8, above: 'bare' }], base: 'bare' }),
    [measured('plinth', { idleKb: 20 }), measured('bare', { idleKb: 15 })],
  );
  t.same(idle.verdicts[0], { text: 'memory a connection KB above bare < 8', value: 5, met: true });
});

t.test('what has become slower', async (t) => {
  const run = (rate: number) => [
    judge(row(), [measured('plinth', { rate }), measured('handwritten', { rate: 100 })]),
  ];
  t.same(regressions(run(200), run(192)), []);
  t.same(regressions(run(200), run(180)), ['get one (64): 2.00 -> 1.80 x handwritten, 10 % worse']);
  t.same(regressions([], run(180)), [], 'a row that is new has nothing to be compared with');
  const idle = (idleKb: number) => [
    judge(row({ base: 'bare' }), [measured('plinth', { idleKb }), measured('bare', { idleKb: 10 })]),
  ];
  t.equal(regressions(idle(10), idle(12)).length, 1, 'more memory is worse');
  t.same(regressions(idle(12), idle(10)), []);
});

t.test('the table', async (t) => {
  const results = [
    judge(row(), [measured('plinth', { rate: 250 }), measured('handwritten', { rate: 100 })]),
    { name: 'broken', connections: 1, base: 'bare', entrants: [], verdicts: [], error: 'failed: why' },
  ];
  const lines = table(results).split('\n');
  t.match(
    lines[2],
    /^get one \(64\) {2}plinth +250 +2\.50 .*MISSED 2\.5 \(requests\/s > 2\.5 x handwritten\)$/,
  );
  t.match(lines[4], /^broken \(1\).*failed: why$/);
});

t.test('the chart is XML and shows what is not in it as text', async (t) => {
  const report = {
    kind: 'full',
    date: '2026-01-01',
    machine: { cpu: 'A & B <C>', cores: 2, memoryGb: 4, system: '', versions: { node: '20' } },
    load: 'wrk',
    items: 1000,
    rounds: 1,
    seconds: 1,
    rows: [judge(row(), [measured('plinth', { rate: 250 }), measured('handwritten', { rate: 100 })])],
  } satisfies Report;
  const svg = chart(report);
  t.match(svg, 'A &amp; B &lt;C&gt;');
  t.match(svg, '2.50 x plinth');
  t.match(svg, '1,000 items');
  t.notMatch(svg, 'NaN');
});

t.test('the growth curve', async (t) => {
  const at = (rate: number, pgUs: number) => ({ rate, nodeUs: 10, pgUs });
  const text = growthTable(
    'get one (64)',
    new Map([
      [10_000, at(1000, 10)],
      [100_000, at(500, 30)],
    ]),
  );
  t.match(text, /^get one \(64\) +10000 +1000 +1\.00 +20 +1\.00\n/);
  t.match(text, /100000 +500 +0\.50 +40 +2\.00/);
});

t.test('the command line', async (t) => {
  t.match(readOptions([]), { kind: 'full', items: 1_000_000, whole: true, growth: undefined });
  t.match(readOptions(['--quick']), { kind: 'quick', items: 200_000, rounds: 3, whole: true });
  t.match(readOptions(['--growth']), { growth: 1_000_000 });
  t.match(readOptions(['--growth=10000000']), { growth: 10_000_000 });
  t.match(readOptions(['--only', 'GET', '--rounds', '7']), { only: /GET/i, rounds: 7, whole: false });
  t.equal(readOptions(['--help']), 'help');
  t.throws(() => readOptions(['--rounds', 'x']), /--rounds/);
  t.throws(() => readOptions(['--load', 'ab']), /--load/);
  t.throws(() => readOptions(['--peers', 'plinth']), /--peers/);
  t.throws(() => readOptions(['--unknown']));
});

t.test('every row has Plinth first, and targets that name entrants of it', async (t) => {
  for (const { name, connections, entrants, targets, base } of rowsOf(1_000_000)) {
    const labels = entrants.map(({ label }) => label);
    t.equal(labels[0], 'plinth', `${name} (${connections})`);
    t.ok(labels.includes(base));
    for (const { by, above } of targets) t.ok(labels.includes(by ?? above ?? 'plinth'));
  }
  t.equal(new Set(Object.values(TERMS)).size, 6);
});

t.test('what the peers make of a query and a row', async (t) => {
  t.same(listQueryOf({ page: '3', limit: '500', search: '5%', count: '0' }), {
    page: 3,
    limit: 20,
    offset: 40,
    term: '5\\%',
    counted: false,
  });
  const at = new Date(0);
  const page = pageOf(
    listQueryOf({}),
    [{ id: '1', extra: { a: 1 }, version: 2, created_at: at, updated_at: at }],
    21,
  );
  t.same(page.meta, { page: 1, limit: 20, total: 21, totalPages: 2 });
  t.same(page.data[0], {
    id: '1',
    a: 1,
    created_at: '1970-01-01T00:00:00.000Z',
    updated_at: '1970-01-01T00:00:00.000Z',
    _version: 2,
  });
  t.same(extraOf({ email: 'a@b', color: 'red' }), { color: 'red' });
});
