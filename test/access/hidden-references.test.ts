import type { JsonObject } from '../../src/json.js';
import { openForCallers, valuesOf } from '../support/callers.js';
import { ADMIN, reference, text, withAccess } from '../support/declared.js';
import t from '../support/test.js';
import { until } from '../support/until.js';

const referring = (onDelete: string): JsonObject =>
  withAccess({ text, roomId: reference('rooms', onDelete) }, [{ can: 'read', fields: ['text'] }, ADMIN], {
    history: true,
  });

t.test('a deletion reveals a hidden reference to the record by a version or an absence only', async (t) => {
  const { as, made } = await openForCallers(t, {
    'rooms.json': withAccess({}, [{ can: 'all' }]),
    'sheets.json': referring('null'),
    'slips.json': referring('cascade'),
  });
  const ann = await as('ann', 'self', 'events:read');
  const [room, other] = [await made('/rooms', {}, ann), await made('/rooms', {}, ann)];
  for (const path of ['/sheets', '/slips'])
    for (const roomId of [room, other]) await made(path, { text: 'a text', roomId });

  t.equal((await ann('DELETE', `/rooms/${room}`)).status, 204);

  const sheets = (await ann('GET', '/sheets')).json as { id: string }[];
  t.same(valuesOf(sheets, '_version'), [2, 1]);
  t.equal((await ann('GET', '/slips')).json.length, 1);
  const history = await ann('GET', `/sheets/${sheets[0]!.id}/history`);
  t.match(history.json.data, [{ version: 2, changes: [] }, { version: 1 }]);
  const events = await until(
    'the events are final',
    async () => (await ann('GET', '/events?types=sheets.*,slips.*')).json.data as { type: string }[],
    (found) =>
      found.some(({ type }) => type === 'sheets.updated') &&
      found.some(({ type }) => type === 'slips.deleted'),
  );
  const seen = JSON.stringify([sheets, history.json, events]);
  for (const hidden of ['roomId', room, other]) t.equal(seen.includes(hidden), false, hidden);
});
