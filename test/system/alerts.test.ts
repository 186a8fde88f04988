import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { testService } from '../support/service.js';
import t from '../support/test.js';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string };
}

t.test('the example alerts name metrics and labels that the service has', async (t) => {
  const { send } = await testService(t, { WEBHOOKS: 'on' });
  await send('GET', '/items');
  const { text } = await send('GET', '/metrics');
  const file = readFileSync(new URL('../../../deploy/alerts.yaml', import.meta.url), 'utf8');
  const [group] = (parse(file) as { groups: { rules: Rule[] }[] }).groups;
  t.ok(group!.rules.length > 5);
  for (const { alert, expr, annotations } of group!.rules) {
    const names = [...expr.matchAll(/\b(?:http_server|plinth|process)_\w+/g)].map(([name]) => name);
    t.ok(names.length > 0 || expr.startsWith('up{'), alert);
    for (const name of names) {
      const family = name.replace(/_(?:count|bucket)$/, '');
      t.match(text, new RegExp(`^# TYPE ${family}(?:_total)? `, 'm'), `${alert}: ${name}`);
    }
    t.ok(annotations.summary, alert);
  }
  t.match(text, /http_server_request_duration_seconds_count\{[^}]*route="[^"]*"[^}]*status="200"/);
});
