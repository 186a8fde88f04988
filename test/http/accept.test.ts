import t from 'tap';
import { negotiate, takesProblemJson } from '../../src/http/accept.js';
import { prefersMinimal } from '../../src/http/prefer.js';

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
    [', ,text/csv,', 'text/csv'],
    [`${'a/b,'.repeat(70)}text/csv`, undefined],
  ];
  for (const [accept, chosen] of rows)
    t.equal(negotiate(accept, OFFERS), chosen, accept?.slice(0, 40) ?? 'none');
});

t.test('problem details are for a client that names them', async (t) => {
  for (const accept of ['application/problem+json', 'application/json, application/problem+json;q=0.5'])
    t.ok(takesProblemJson(accept), accept);
  for (const accept of [undefined, '*/*', 'application/*', 'application/problem+json;q=0', 'x/problem+json'])
    t.notOk(takesProblemJson(accept), accept ?? 'none');
});

t.test('RFC 7240: return=minimal', async (t) => {
  for (const prefer of [
    'return=minimal',
    'Return = "minimal"',
    'respond-async, return=minimal; x=1',
    'wait=5,return=minimal,return=representation',
  ])
    t.ok(prefersMinimal(prefer), prefer);
  for (const prefer of [
    undefined,
    'return=representation',
    'return',
    'return=representation, return=minimal',
    'xreturn=minimal',
  ])
    t.notOk(prefersMinimal(prefer), prefer ?? 'none');
});
