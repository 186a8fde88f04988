import type { JsonObject } from '../../src/json.js';
import { callersOf, declaredService } from '../support/callers.js';
import t from '../support/test.js';
import { until } from '../support/until.js';

const referring = (onDelete: string): JsonObject => ({
  type: 'object',
  properties: {
    text: { type: 'string' },
    roomId: { type: 'string', 'x-references': 'rooms', 'x-on-delete': onDelete },
  },
  'x-collection': {
    history: true,
    access: [
      { can: 'read', fields: ['text'] },
      { can: 'all', scope: 'admin' },
    ],
  },
});

t.test('a deletion reveals a hidden reference to the record by a version or an absence only', async (t) => {
  const files = {
    'rooms.json': { type: 'object', properties: {}, 'x-collection': { access: [{ can: 'all' }] } },
    'sheets.json': referring('null'),
    'slips.json': referring('cascade'),
  };
  const service = await declaredService(t, files, { AUTH: 'api-key' });
  const caller = callersOf(service);
  const operator = await caller('root', 'admin', 'self');
  const ann = await caller('ann', 'self', 'events:read');
  const [room, other] = [
    (await ann('POST', '/rooms', {})).json.id,
    (await ann('POST', '/rooms', {})).json.id,
  ];
  for (const path of ['/sheets', '/slips'])
    for (const roomId of [room, other]) await operator('POST', path, { text: 'a text', roomId });

  t.equal((await ann('DELETE', `/rooms/${room}`)).status, 204);

  const sheets = (await ann('GET', '/sheets')).json as { id: string; _version: number }[];
  t.same(
    sheets.map((sheet) => sheet._version),
    [2, 1],
  );
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
