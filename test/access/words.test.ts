import type { JsonObject } from '../../src/json.js';
import { declaredService } from '../support/callers.js';
import { makeKey } from '../support/credentials.js';
import t from '../support/test.js';

const NOTES = {
  type: 'object',
  properties: {
    title: { type: 'string', 'x-search': 'words' },
    secret: { type: 'string', 'x-search': 'words' },
    state: { type: 'string', 'x-index': true },
  },
  'x-collection': {
    access: [
      { can: 'read', where: { state: 'public' }, fields: ['title'] },
      { can: 'all', scope: 'admin' },
    ],
  },
};

t.test('a search finds and shows no words of records and fields that are hidden', async (t) => {
  const service = await declaredService(t, { 'notes.json': NOTES }, { AUTH: 'api-key', MIGRATE: 'auto' });
  const keys = {
    admin: (await makeKey(service.db)).key,
    reader: (await makeKey(service.db, { scopes: ['notes:read'] })).key,
  };
  for (const body of [
    { title: 'plain lamp', secret: 'hidden lamp lamp lamp', state: 'public' },
    { title: 'lamp lamp', secret: 'other', state: 'public' },
    { title: 'a lamp', secret: 'hidden', state: 'draft' },
  ]) {
    const { status } = await service.send('POST', '/notes', { body, headers: { 'X-API-Key': keys.admin } });
    t.equal(status, 201);
  }
  for (const mount of ['', '/api/v2'])
    for (const [caller, search, ...expected] of [
      ['admin', 'hidden', 'plain lamp', 'a lamp'],
      ['reader', 'hidden'],
      ['reader', 'lamp', 'plain lamp', 'lamp lamp'],
      ['reader', '-hidden', 'plain lamp', 'lamp lamp'],
      ['admin', '-hidden', 'lamp lamp'],
      ['reader', 'hidden or lamp -x'],
    ] as const) {
      const list = async (more: string): Promise<readonly JsonObject[]> => {
        const { json } = await service.send(
          'GET',
          `${mount}/notes?search=${encodeURIComponent(search)}&limit=5${more}`,
          { headers: { 'X-API-Key': keys[caller] } },
        );
        return json.data;
      };
      const label = `${mount} ${caller} ${search}`;
      t.same(
        (await list('')).map(({ title }) => title),
        expected,
        label,
      );
      const ranked = await list('&sort=relevance&excerpts=true');
      t.same(ranked.map(({ title }) => title).sort(), [...expected].sort(), label);
      if (caller === 'reader')
        for (const { _excerpts } of ranked) t.notOk(Object.hasOwn(_excerpts as object, 'secret'), label);
      if (label.endsWith('reader lamp'))
        t.match(ranked[0], { title: 'lamp lamp' }, 'hidden words do not count');
    }
});
