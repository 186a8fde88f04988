import t from 'tap';
import { type Token, TokenCache } from '../../../src/auth/tokens/access-token.js';
import { mockClock } from '../../support/issuer.js';

const END = 'x'.repeat(32);

const tokenOf = (subject: string, goodUntil: number): Token => ({
  principal: { subject, scopes: new Set(), scheme: 'bearer', expiresAt: undefined },
  certificate: undefined,
  id: undefined,
  goodUntil,
});

t.test('the one that was asked for last is good for as long as the others', async (t) => {
  const clock = mockClock(t);
  clock.ms = 0;
  const cache = new TokenCache();
  const keep = (text: string, goodUntil: number) =>
    cache.find(text, () => Promise.resolve(tokenOf(text, goodUntil)));
  const known = (text: string) => cache.known(text)?.principal.subject;
  await keep('first', 10);
  await keep('second', 20);
  for (const text of ['first', 'first', 'second', 'second', 'first', 'third'])
    t.equal(known(text), text === 'third' ? undefined : text);
  t.equal(known('first'), 'first');
  clock.ms = 10;
  t.equal(known('first'), undefined, 'its time is over');
  t.equal(known('second'), 'second');
  t.equal(known('second'), 'second');
  cache.clear();
  t.equal(known('second'), undefined, 'the keys have changed');
});

t.test('one that ends as the last one does is not taken for it', async (t) => {
  const cache = new TokenCache();
  await cache.find(`a${END}`, () => Promise.resolve(tokenOf('a', Date.now() + 60_000)));
  t.equal(cache.known(`a${END}`)?.principal.subject, 'a');
  t.equal(cache.known(`b${END}`), undefined);
  t.equal(cache.known(END), undefined);
  await cache.find(`b${END}`, () => Promise.resolve(tokenOf('b', Date.now() + 60_000)));
  t.equal(cache.known(`b${END}`)?.principal.subject, 'b');
  t.equal(cache.known(`a${END}`), undefined, 'one is kept of an end');
});
