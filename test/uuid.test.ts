import { randomBytes, randomInt } from 'node:crypto';
import { v7 } from 'uuid';
import { createdAt, type Identity, nextIdentity, parseUuid, uuidOf } from '../src/uuid.js';
import t, { type Test } from './support/test.js';

/** The ids made at each of these times. */
function idsAt(t: Test, times: readonly number[]): Identity[] {
  const now = Date.now;
  t.teardown(() => {
    Date.now = now;
  });
  return times.map((ms) => {
    Date.now = () => ms;
    return nextIdentity();
  });
}

const V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

t.test('RFC 9562 section 5.7: version 7, variant 10, the time in front', async (t) => {
  const [made] = idsAt(t, [2_000_000_000_000]);
  t.match(made!.id, /^01d1a94a-2000-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  t.equal(made!.ms, 2_000_000_000_000);
});

t.test('each id is that of the package uuid for the same time, number and random bytes', async (t) => {
  const example = '017f22e2-79b0-7cc3-98c4-dc0c0c07398f';
  const rest = Buffer.from(example.replaceAll('-', ''), 'hex');
  // The example of RFC 9562, appendix A.6.
  const number = (0xcc3 << 20) | (0x18c4 << 6) | (0xdc >>> 2);
  t.equal(uuidOf(0x017f22e279b0, number, Buffer.from(rest)), example);
  const bounds: [number, number][] = [
    [0, 0],
    [2 ** 48 - 1, -1],
    [1, 2 ** 31 - 1],
    [2 ** 32, -(2 ** 31)],
  ];
  const others = Array.from({ length: 2000 }, () => [randomInt(2 ** 47), randomInt(2 ** 32) | 0] as const);
  for (const [msecs, seq] of [...bounds, ...others]) {
    const random = randomBytes(16);
    const expected = v7({ random: Uint8Array.from(random), msecs, seq });
    if (uuidOf(msecs, seq, random) !== expected) t.fail(`${msecs} ${seq} ${random.toString('hex')}`);
  }
});

t.test('ids grow, within a millisecond and after the clock is set back', async (t) => {
  const base = 2_100_000_000_000;
  const made = idsAt(
    t,
    Array.from({ length: 20_000 }, (_, n) => (n === 10_000 ? base - 5000 : base)),
  );
  const ids = made.map(({ id }) => id);
  t.same(ids, ids.toSorted());
  t.equal(new Set(ids).size, ids.length);
  t.equal(new Set(ids.map((id) => id.slice(26))).size, ids.length, 'the rest is random');
  t.ok(made.every(({ id, ms }) => V7.test(id) && createdAt(id) === ms));
  t.equal(made[0]!.ms, base);
});

t.test('a clock that was set forward, and back again, leaves nothing in later ids', async (t) => {
  const base = 2_200_000_000_000;
  const [month, second] = [30 * 86_400_000, 1000];
  const made = idsAt(t, [base, base + month, base + month, base + second, base + second, base + 2 * second]);
  t.same(
    made.map(({ ms }) => ms - base),
    [0, month, month, second, second, 2 * second],
  );
  t.ok(made.every(({ id, ms }) => createdAt(id) === ms));
  t.same(
    made.slice(3).map(({ id }) => id),
    made
      .slice(3)
      .map(({ id }) => id)
      .toSorted(),
    'from then on they grow again',
  );
  const back = idsAt(t, [base + 60_000, base + 50_000, base + 49_999]);
  t.same(
    back.map(({ ms }) => ms - base),
    [60_000, 60_000, 49_999],
    'ten seconds at most',
  );
});

t.test('created_at is one that RFC 3339 can write, for any id', async (t) => {
  t.equal(createdAt('00000000-0000-0000-0000-000000000000'), 0);
  t.equal(createdAt('ffffffff-ffff-ffff-ffff-ffffffffffff'), Date.parse('9999-12-31T23:59:59.999Z'));
});

t.test('what is a UUID', async (t) => {
  t.equal(parseUuid('018BCFE5-6800-7ABC-8ABC-0123456789AB'), '018bcfe5-6800-7abc-8abc-0123456789ab');
  for (const text of [
    '',
    '1',
    '018bcfe568007abc8abc0123456789ab',
    '{018bcfe5-6800-7abc-8abc-0123456789ab}',
    '018bcfe5-6800-7abc-8abc-0123456789a',
    '018bcfe5-6800-7abc-8abc-0123456789ab\n',
    ' 018bcfe5-6800-7abc-8abc-0123456789ab',
    'urn:uuid:018bcfe5-6800-7abc-8abc-0123456789ab',
    '018bcfe5-68007-abc-8abc-0123456789ab',
    'g18bcfe5-6800-7abc-8abc-0123456789ab',
  ]) {
    t.equal(parseUuid(text), undefined, text);
  }
});
