import { type Token, TokenCache } from '../../../src/auth/tokens/access-token.js';
import t from '../../support/test.js';

const tokenOf = (subject: string, cachedUntil: number): Token => ({
  principal: { subject, scopes: new Set(), scheme: 'bearer', expiresAt: undefined },
  certificate: undefined,
  proofKey: undefined,
  id: undefined,
  cachedUntil,
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
