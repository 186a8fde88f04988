import { acceptsProblemJson, negotiate } from '../../src/http/content-negotiation.js';
import t from '../support/test.js';

const OFFERS = ['application/json', 'text/html', 'text/csv'];

t.test('RFC 9110 section 12.5.1', async (t) => {
  const rows: [accept: string | undefined, chosen: string | undefined][] = [
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['text/csv', 'text/csv'],
    ['TEXT/CSV', 'text/csv'],
    ['text/*', 'text/html'],
    ['text/html;q=0.4, text/csv;q=0.5', 'text/csv'],
    ['text/html, application/json', 'application/json'],
    ['text/html, */*;q=0.8', 'text/html'],
    ['application/json;q=0, */*', 'text/html'],
    ['*/*;q=0', undefined],
    ['text/*;q=0.9, text/html;q=0.1', 'text/csv'],
    ['text/html;level=1', 'text/html'],
    ['application/json; charset=utf-8', 'application/json'],
    ['text/csv ; q=1.000', 'text/csv'],
    ['text/csv;Q=0', undefined],
    ['image/png', undefined],
    ['application/json;q=0.000', undefined],
    ['', undefined],
    ['nonsense', undefined],
    ['*/html', undefined],
    ['*', undefined],
    ['text/html;level=1;q=0, text/html', 'text/html'],
    ['text/html, text/html;level=1;q=0', 'text/html'],
    ['text/html;level=1, text/html;q=0, text/csv;q=0.1', 'text/csv'],
    ['text/html;level=1;q=0.2, text/*;q=0.9', 'text/csv'],
    ['text/csv;q=0.001', 'text/csv'],
    ['text/html;q=0.3, text/csv;q=0.30', 'text/html'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text/html'],
    ['application/problem+json', undefined],
    ['application/problem+json, application/json', 'application/json'],
    ['application/jso', undefined],
    ['\ttext/csv\t;\tq=0.5\t', 'text/csv'],
    [', ,text/csv,', 'text/csv'],
    [`${'a/b,'.repeat(70)}text/csv`, undefined],
  ];
  for (const [accept, chosen] of rows)
    t.equal(negotiate(accept, OFFERS), chosen, accept?.slice(0, 40) ?? 'none');
});

t.test('RFC 9110 section 12.5.1: the precedence of the example', async (t) => {
  const ranges = [
    'text/*;q=0.3',
    'text/plain;q=0.7',
    'text/plain;format=flowed',
    'text/plain;format=fixed;q=0.4',
    '*/*;q=0.5',
  ];
  for (const accept of [ranges.join(', '), ranges.toReversed().join(', ')]) {
    t.equal(negotiate(accept, ['text/html', 'image/jpeg', 'text/plain']), 'text/plain', '0.3, 0.5, 0.7');
    t.equal(negotiate(accept, ['text/html', 'image/jpeg']), 'image/jpeg', '0.3, 0.5');
    t.equal(negotiate(`${accept}, a/b;q=0.8`, ['text/plain', 'a/b']), 'a/b', '0.7, 0.8');
  }
});

t.test('problem details are for a client that names them', async (t) => {
  for (const accept of ['application/problem+json', 'application/json, application/problem+json;q=0.5'])
    t.ok(acceptsProblemJson(accept), accept);
  for (const accept of [undefined, '*/*', 'application/*', 'application/problem+json;q=0', 'x/problem+json'])
    t.notOk(acceptsProblemJson(accept), accept ?? 'none');
});
