import type { JsonObject } from '../../src/json.js';
import { openForCallers, valuesOf } from '../support/callers.js';
import { ADMIN, text, withAccess } from '../support/declared.js';
import t from '../support/test.js';

const NOTES = withAccess(
  {
    title: { type: 'string', 'x-search': 'words' },
    secret: { type: 'string', 'x-search': 'words' },
    state: text,
  },
  [{ can: 'read', where: { state: 'public' }, fields: ['title'] }, ADMIN],
);

t.test('a search finds and shows no words of records and fields that are hidden', async (t) => {
  const { as, admin, made } = await openForCallers(t, { 'notes.json': NOTES });
  const callers = { admin, reader: await as('a reader', 'notes:read') };
  await made('/notes', { title: 'plain lamp', secret: 'hidden lamp lamp lamp', state: 'public' });
  await made('/notes', { title: 'lamp lamp', secret: 'other', state: 'public' });
  await made('/notes', { title: 'a lamp', secret: 'hidden', state: 'draft' });
  for (const mount of ['', '/api/v2'])
    for (const [caller, search, ...expected] of [
      ['admin', 'hidden', 'plain lamp', 'a lamp'],
      ['reader', 'hidden'],
      ['reader', 'lamp', 'plain lamp', 'lamp lamp'],
      ['reader', '-hidden', 'plain lamp', 'lamp lamp'],
      ['admin', '-hidden', 'lamp lamp'],
      ['reader', 'hidden or lamp -x'],
    ] as const) {
      const query = `${mount}/notes?search=${encodeURIComponent(search)}&limit=5`;
      const list = async (more: string): Promise<readonly JsonObject[]> =>
        (await callers[caller]('GET', query + more)).json.data;
      const label = `${mount} ${caller} ${search}`;
      t.same(valuesOf(await list(''), 'title'), expected, label);
      const ranked = await list('&sort=relevance&excerpts=true');
      t.same(valuesOf(ranked, 'title').sort(), [...expected].sort(), label);
      if (caller === 'reader')
        for (const { _excerpts } of ranked) t.notOk(Object.hasOwn(_excerpts as object, 'secret'), label);
      if (label.endsWith('reader lamp'))
        t.match(ranked[0], { title: 'lamp lamp' }, 'hidden words do not count');
    }
});
