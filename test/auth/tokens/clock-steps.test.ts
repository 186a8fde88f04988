import { TimedCache } from '../../../src/auth/timed-cache.js';
import { Introspection } from '../../../src/auth/tokens/introspection.js';
import { readConfig } from '../../../src/config/config.js';
import { LoginThrottle } from '../../../src/limits/login-throttle.js';
import { rateLimiter } from '../../../src/limits/rate-limit.js';
import {
  AUDIENCE,
  bearerOf,
  claims,
  json,
  outcomeOf,
  sign,
  signingKey,
  testIssuer,
} from '../../support/issuer.js';
import { mockWallClock } from '../../support/pause.js';
import { shownLog } from '../../support/shown-log.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';

const MONTH_MS = 30 * 86_400_000;

const settings = (issuer: string) => ({ AUTH: 'bearer', ISSUER: issuer, AUDIENCE, AUTH_FAILURES: '0' });

t.test('keys that were fetched while the clock was a month ahead are fetched again', async (t) => {
  const [old, next] = [await signingKey('old'), await signingKey('next')];
  const issuer = await testIssuer(t, old);
  const clock = mockWallClock(t);
  const { use } = bearerOf(t, clock, settings(issuer.url), 60_000);
  const far = { exp: Math.floor((clock.ms + 2 * MONTH_MS) / 1000) };
  const first = await sign(old, claims(issuer.url, far));
  const second = await sign(next, claims(issuer.url, far));
  clock.ms += MONTH_MS;
  t.equal(await outcomeOf(use(first)), 'valid');
  clock.ms -= MONTH_MS;
  issuer.publish(next);
  t.equal(await outcomeOf(use(second)), 'valid', 'a new key is accepted');
  t.match(await outcomeOf(use(first)), /unknown key/, 'and the withdrawn one is refused');

  clock.ms += MONTH_MS;
  t.equal(await outcomeOf(use(second)), 'valid');
  clock.ms -= MONTH_MS;
  await issuer.leave();
  t.equal(await outcomeOf(use(second)), 'valid', 'without the issuer, the stored keys are used');
  clock.ms += 25 * 3_600_000;
  t.equal(await outcomeOf(use(second)), 503, 'for a day');
});

t.test('introspections of a clock that was ahead are not used for longer', async (t) => {
  const issuer = await testIssuer(t);
  const clock = mockWallClock(t);
  const config = readConfig({ ...settings(issuer.url), INTROSPECTION: `${issuer.url}/introspect` });
  const source = new Introspection(config, config.introspection!, shownLog(t), 60_000);
  const use = (token: string) => outcomeOf((async () => source.cached(token) ?? source.verify(token))());
  const respond = (active: boolean) =>
    issuer.paths.set('/introspect', json({ active, sub: 'ada', aud: AUDIENCE }));
  for (const before of [true, false]) {
    const expected = (active: boolean) => (active ? 'valid' : 'The access token is not active.');
    const token = `token of ${before}`;
    clock.ms += MONTH_MS;
    respond(before);
    t.equal(await use(token), expected(before));
    clock.ms -= MONTH_MS;
    respond(!before);
    t.equal(await use(token), expected(!before));
  }
});

t.test('a value of a cache of a clock that was ahead is not used', async (t) => {
  const clock = mockWallClock(t);
  const cache = new TimedCache<number>(10);
  cache.set('a', 1, 1000);
  clock.ms += 999;
  t.equal(cache.get('a'), 1);
  clock.ms += 1;
  t.equal(cache.get('a'), undefined);
  cache.set('a', 2, 1000);
  clock.ms -= 1;
  t.equal(cache.get('a'), undefined, 'stored later than now');
  cache.set('a', 3, 1000);
  t.equal(cache.get('a'), 3);
  cache.clear();
  t.equal(cache.get('a'), undefined);
});

t.test('limits of a process know no clock of the machine', async (t) => {
  const clock = mockWallClock(t);
  clock.ms += MONTH_MS;
  const count = rateLimiter({ requests: 1, seconds: 1 });
  await count('a');
  const throttle = new LoginThrottle(1);
  await throttle.begin('192.0.2.1').fail(undefined);
  clock.ms -= MONTH_MS;
  await until(
    'the window ends',
    () => count('a'),
    ({ refusedFor }) => refusedFor === undefined,
  );
  await until('the wait ends', () => {
    try {
      throttle.begin('192.0.2.1');
      return true;
    } catch {
      return false;
    }
  });
});
