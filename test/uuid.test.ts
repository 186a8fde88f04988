import t from 'tap';
import { createdAt, nextIdentity, parseUuid } from '../src/uuid.js';

t.test('RFC 9562 section 5.7: version 7, variant 10, the moment in front', async (t) => {
  const { id, ms } = nextIdentity(1_700_000_000_000);
  t.match(id, /^018bcfe5-6800-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  t.equal(createdAt(id), ms);
});

t.test('ids grow, within a millisecond and when the clock is set back', async (t) => {
  const base = 1_800_000_000_000;
  const ids = Array.from({ length: 20_000 }, (_, n) => nextIdentity(n === 10_000 ? base - 5000 : base));
  t.same(
    ids.map(({ id }) => id),
    ids.map(({ id }) => id).sort(),
  );
  t.equal(new Set(ids.map(({ id }) => id)).size, ids.length);
  for (const { id, ms } of [ids[0]!, ids.at(-1)!]) t.equal(createdAt(id), ms);
});

t.test('created_at is one that RFC 3339 can write, for any id', async (t) => {
  t.equal(createdAt('00000000-0000-0000-0000-000000000000'), 0);
  t.equal(createdAt('ffffffff-ffff-ffff-ffff-ffffffffffff'), Date.parse('9999-12-31T23:59:59.999Z'));
});

t.test(
  'RFC 9562 section 6.2: more ids than the counter holds borrow from the next millisecond',
  async (t) => {
    const now = 1_900_000_000_000;
    const made = Array.from({ length: 5000 }, () => nextIdentity(now));
    t.equal(made[0]!.ms, now);
    t.ok(made.at(-1)!.ms > now && made.at(-1)!.ms <= now + 3);
    t.ok(
      made.every(({ id }) =>
        /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id),
      ),
    );
    t.equal(new Set(made.map(({ id }) => id.slice(24))).size, made.length, 'the rest is random');
  },
);

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
