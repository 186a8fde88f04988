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

t.test('what is a UUID', async (t) => {
  t.equal(parseUuid('018BCFE5-6800-7ABC-8ABC-0123456789AB'), '018bcfe5-6800-7abc-8abc-0123456789ab');
  for (const text of [
    '',
    '1',
    '018bcfe568007abc8abc0123456789ab',
    '{018bcfe5-6800-7abc-8abc-0123456789ab}',
    '018bcfe5-6800-7abc-8abc-0123456789a',
    '018bcfe5-6800-7abc-8abc-0123456789ab\n',
    'g18bcfe5-6800-7abc-8abc-0123456789ab',
  ]) {
    t.equal(parseUuid(text), undefined, text);
  }
});
