import { type Token, TokenCache } from '../../../src/auth/tokens/access-token.js';
import { mockClock } from '../../support/pause.js';
import t from '../../support/test.js';

const END = 'x'.repeat(32);

const tokenOf = (subject: string, cachedUntil: number): Token => ({
  principal: { subject, scopes: new Set(), scheme: 'bearer', expiresAt: undefined },
  certificate: undefined,
  proofKey: undefined,
  id: undefined,
  cachedUntil,
});

t.test('a cached token is used until its own time, or until the keys change', async (t) => {
  const clock = mockClock(t);
  clock.ms = 1;
  const cache = new TokenCache();
  const add = (text: string, cachedUntil: number) =>
    cache.add(text, () => Promise.resolve(tokenOf(text, cachedUntil)));
  const cached = (text: string) => cache.get(text)?.principal.subject;
  await add('first', 10);
  await add('second', 20);
  for (const text of ['first', 'first', 'second', 'second', 'first', 'third'])
    t.equal(cached(text), text === 'third' ? undefined : text);
  t.equal(cached('first'), 'first');
  clock.ms = 10;
  t.equal(cached('first'), undefined, 'its time is over');
  t.equal(cached('second'), 'second');
  t.equal(cached('second'), 'second');
  cache.clear();
  t.equal(cached('second'), undefined, 'the keys have changed');
});

t.test('tokens with the same end are different tokens', async (t) => {
  const clock = mockClock(t);
  const cache = new TokenCache();
  const add = (text: string, subject: string) =>
    cache.add(text, () => Promise.resolve(tokenOf(subject, clock.ms + 1)));
  await add(`a${END}`, 'a');
  t.equal(cache.get(`a${END}`)?.principal.subject, 'a');
  t.equal(cache.get(`b${END}`), undefined);
  t.equal(cache.get(END), undefined);
  await add(`b${END}`, 'b');
  t.equal(cache.get(`b${END}`)?.principal.subject, 'b');
  t.equal(cache.get(`a${END}`)?.principal.subject, 'a');
});

t.test('a token whose verification began before the keys changed is not cached', async (t) => {
  const cache = new TokenCache();
  let resolve: (token: Token) => void = () => undefined;
  const added = cache.add('a', () => new Promise((fulfil) => (resolve = fulfil)));
  cache.clear();
  resolve(tokenOf('a', Date.now() + 60_000));
  t.equal((await added).principal.subject, 'a');
  t.equal(cache.get('a'), undefined);
});
