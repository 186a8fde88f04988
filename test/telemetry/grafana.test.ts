import { readFileSync } from 'node:fs';
import { testService } from '../support/service.js';
import t from '../support/test.js';
import { parseScrape } from './scraped.js';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const dashboard = JSON.parse(readFileSync(new URL('../../../docs/grafana.json', import.meta.url), 'utf8'));
const panels = dashboard.panels as Panel[];
const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

/** Words that are no names of metrics where they stand: functions and keywords are followed by a parenthesis. */
const NAMES = /(?<![\w"=.$])[a-z][a-z0-9_]{5,}(?=\{)/g;

t.test('each panel has its place, and asks for something', async (t) => {
  t.ok(panels.length > 10);
  t.equal(new Set(panels.map(({ id }) => id)).size, panels.length, 'each its id');
  const cells = new Set<string>();
  for (const { type, title, gridPos, targets } of panels) {
    t.ok(type === 'row' || targets!.length > 0, title);
    t.ok(gridPos.x + gridPos.w <= 24);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        t.notOk(cells.has(`${x},${y}`), `${title} lies on no other`);
        cells.add(`${x},${y}`);
      }
  }
});

t.test('the dashboard asks for metrics that there are, by labels that they have', async (t) => {
  const { send } = await testService(t, {}, undefined);
  await send('GET', '/users');
  const { text } = await send('GET', '/metrics');
  const declared = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  );
  const isThere = (name: string) => {
    const base = name.replace(/_(?:bucket|sum|count)$/, '');
    return declared.has(name) || declared.get(base) === 'histogram';
  };
  const queried = new Set(expressions.flatMap((expression) => expression.match(NAMES) ?? []));
  t.ok(queried.size > 15);
  for (const name of queried) t.ok(isThere(name), name);
  for (const expression of expressions) t.ok(expression.match(NAMES), expression);
  const ours = [...declared.keys()].filter((name) => /^(?:http|plinth)_/.test(name));
  for (const name of ours)
    t.ok(
      expressions.some((expression) => expression.includes(name)),
      `${name} is on the dashboard`,
    );
  const labels = new Set(['le', ...parseScrape(text).flatMap(({ labels }) => Object.keys(labels))]);
  const known = new Set([...labels, 'scheme', 'reason', 'outcome', 'job', 'instance', 'kind']);
  for (const expression of expressions)
    for (const [, list = ''] of expression.matchAll(/by \(([^)]*)\)/g))
      for (const label of list.split(', ')) t.ok(known.has(label), `${label} in ${expression}`);
});
