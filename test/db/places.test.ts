import { randomUUID } from 'node:crypto';
import t from 'tap';
import { openPlaces } from '../../src/db/places.js';

/** Two that look the same to it, since what is random in an id is the same in both. */
const [ID, TWIN] = ['01900000-0000-7000-8000-aa0123456789', '01900000-0000-7000-8000-bb0123456789'];

t.test('a place is kept, moved and forgotten', async (t) => {
  const places = openPlaces();
  t.equal(places.of(ID), undefined);
  places.forget(ID);
  for (const place of ['(0,1)', '(17,291)', '(4294967294,511)']) {
    places.keep(ID, place);
    t.equal(places.of(ID), place);
  }
  places.forget(ID);
  t.equal(places.of(ID), undefined);
  places.forget(ID);
});

t.test('a place that there is no room for is not kept', async (t) => {
  const places = openPlaces();
  places.keep(ID, '(1,512)');
  t.equal(places.of(ID), undefined);
});

t.test('two ids may look the same', async (t) => {
  const places = openPlaces();
  places.keep(ID, '(1,2)');
  t.equal(places.of(TWIN), '(1,2)');
  places.keep(TWIN, '(3,4)');
  t.equal(places.of(ID), '(3,4)');
  places.forget(ID);
  t.equal(places.of(TWIN), undefined);
});

t.test('it holds most of a hundred thousand, and what came last of more than it can hold', async (t) => {
  const places = openPlaces();
  const ids = Array.from({ length: 400_000 }, () => randomUUID());
  const known = (ids: readonly string[], from: number) =>
    ids.filter((id, at) => places.of(id) === `(${from + at},1)`).length;
  for (const [at, id] of ids.entries()) {
    places.keep(id, `(${at},1)`);
    if (at === 99_999) t.ok(known(ids.slice(0, 100_000), 0) > 95_000);
    if (at >= 399_000) t.equal(places.of(id), `(${at},1)`);
  }
  const all = known(ids, 0);
  t.ok(places.isFull());
  t.ok(all > 200_000 && all <= 262_144, `${all} of 400,000`);
  t.ok(known(ids.slice(-20_000), 380_000) > 18_000);
});
