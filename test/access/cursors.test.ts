import type { Json, JsonObject } from '../../src/json.js';
import { openForCallers } from '../support/callers.js';
import { ADMIN, reference, text, withAccess } from '../support/declared.js';
import { whenEventsAreFinal } from '../support/final-events.js';
import type { ServiceResponse } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { some } from '../support/thorough.js';

/** Texts of fields and records that Ann may not read, before and after a change of them. */
const [BEFORE, AFTER] = ['zebra', 'aardvark'];
/** A value of a hidden field in a cursor. */
const HIDDEN = /zebra|"10\d\d"|2040/;

const DECLARATIONS: Readonly<Record<string, JsonObject>> = {
  'shelves.json': { type: 'object', properties: { name: text, place: text } },
  'files.json': withAccess(
    {
      title: { ...text, 'x-search': 'words' },
      secret: { ...text, 'x-search': 'words' },
      size: { type: 'number', 'x-index': true },
      due: { type: 'string', format: 'date-time', 'x-index': true },
      owner: text,
      shelfId: reference('shelves'),
      folderId: reference('files'),
    },
    [
      { can: 'read', where: { owner: '$caller' }, fields: ['title', 'owner', 'shelfId'] },
      { can: 'read', where: { owner: 'everybody' } },
      ADMIN,
    ],
    { history: true },
  ),
};

async function open(t: Test) {
  const { service, as, admin, made } = await openForCallers(t, DECLARATIONS);
  const shelves = [
    await made('/shelves', { name: 'low', place: 'b' }),
    await made('/shelves', { name: 'high', place: 'a' }),
  ];
  const files: { id: string; owner: string }[] = [];
  for (let n = 0; n < 24; n++) {
    const owner = ['ann', 'bob', 'everybody'][n % 3]!;
    const isHidden = owner !== 'everybody';
    const id = await made('/files', {
      title: owner === 'bob' ? `report ${BEFORE} ${n}` : `report ${n % 5}`,
      secret: isHidden ? `${BEFORE} report ${n}` : `known report ${n % 4}`,
      size: isHidden ? 1000 + n : n % 4,
      due: `20${isHidden ? 40 : 20}-01-0${1 + (n % 6)}T00:00:00Z`,
      owner,
      shelfId: shelves[n % 2]!,
    });
    files.push({ id, owner });
  }
  return { service, admin, as, ann: await as('ann', 'self', 'shelves:read', 'events:read'), files, shelves };
}

type Call = Awaited<ReturnType<typeof open>>['ann'];

/** The orders of lists; one by words needs a search. Changes of hidden values are changes of `updated_at`. */
const ORDERS = [
  ...['created_at', '-created_at', 'title', '-title', 'secret', '-secret', 'size', '-size', 'due', '-due'],
  ...[
    'secret,-title',
    '-title,secret',
    'shelf.name,secret',
    '-shelf.place',
    'title,-created_at',
    'size,due,secret',
  ],
].map((sort) => `sort=${sort}`);
const QUERIES = [
  ...ORDERS,
  ...['relevance', '-secret', 'title'].map((sort) => `search=report&sort=${sort}`),
  'search=report%20-known&sort=relevance',
  'filter[secret][ne]=known&sort=-secret',
];

const idsOf = ({ json }: ServiceResponse): string[] => json.data.map(({ id }: JsonObject) => String(id));
function cursorIn(link: string | null): string | undefined {
  const given = new URLSearchParams(link?.split('?', 2)[1] ?? '');
  return given.get('after') ?? given.get('before') ?? undefined;
}

/** The parts of a cursor: the list, whether its place belongs to the page, an id, and values. */
const read = (cursor: string): Json[] => JSON.parse(Buffer.from(cursor, 'base64url').toString()) as Json[];
const written = (parts: readonly Json[]): string => Buffer.from(JSON.stringify(parts)).toString('base64url');
/** The values of a cursor. */
const valuesOf = (cursor: string): string => JSON.stringify(read(cursor).slice(3));

/** The cursors of all pages of a list. */
async function cursorsOf(call: Call, query: string): Promise<{ cursors: string[]; ids: string[] }> {
  const cursors: string[] = [];
  const ids: string[] = [];
  let path: string | undefined = `/api/v2/files?${query}&limit=3`;
  while (path !== undefined) {
    const page: ServiceResponse = await call('GET', path);
    if (page.status !== 200) throw new Error(`${path} ${page.text}`);
    ids.push(...idsOf(page));
    const next: string | null = page.json.links.next;
    if (next !== null) cursors.push(cursorIn(next)!);
    path = next ?? undefined;
  }
  return { cursors, ids };
}

/** Values of fields that the caller may not read, their beginnings and neighbours, and no value. */
const GUESSES: readonly Json[] = [
  ...[null, '', BEFORE, `${BEFORE} report 12`, 'known report 2', '\u{10FFFF}'],
  ...['1003', '1e9', '-1', '2040-01-03T00:00:00.000000Z'],
];

/** Cursors with other values, ids and flags. */
function forged(cursor: string, ids: readonly string[]): string[] {
  const [list, flag, id, ...values] = read(cursor) as [Json, Json, Json, ...Json[]];
  const places = [...ids, '00000000-0000-7000-8000-000000000000', 'ffffffff-ffff-7fff-bfff-ffffffffffff'];
  const others = values.flatMap((_, at) => GUESSES.map((guess) => values.with(at, guess)));
  const parts: Json[][] = [
    ...places.map((place, at) => [list, at % 2, place, ...values]),
    ...others.map((each, at) => [list, at % 2, at % 3 === 0 ? ids[0]! : id, ...each]),
    [list, flag, id, ...values, BEFORE],
    ['', flag, id, ...values],
    [list, true, id, ...values],
    [list, flag, `${String(id)}' or true --`, ...values],
  ];
  return [...parts.map(written), `${cursor}A`, cursor.slice(1), ''];
}

t.test('a forged, altered or foreign cursor of a list reveals nothing that is hidden', async (t) => {
  const { admin, ann, files } = await open(t);
  const hidden = files.filter(({ owner }) => owner === 'bob').map(({ id }) => id);
  const own = files.filter(({ owner }) => owner === 'ann').map(({ id }) => id);
  const isShown = (ids: readonly string[]) => ids.every((id) => !hidden.includes(id));
  const requests: string[] = [];
  const queries = some(QUERIES, 7);
  for (const [place, query] of queries.entries()) {
    const { cursors, ids } = await cursorsOf(ann, query);
    t.equal(new Set(ids).size, ids.length, `${query}: each record is on one page`);
    t.ok(isShown(ids), query);
    for (const cursor of cursors) t.notMatch(valuesOf(cursor), HIDDEN, query);
    const foreign = await cursorsOf(admin, query);
    const sent = [
      ...[cursors[0]!, ...foreign.cursors.slice(0, 4)],
      ...forged([cursors[0]!, foreign.cursors[3]!][place % 2]!, [hidden[2]!, own[3]!]),
    ];
    for (const [at, cursor] of sent.entries())
      requests.push(`/api/v2/files?${query}&limit=4&${at % 3 === 2 ? 'before' : 'after'}=${cursor}`);
  }
  const seen = async () => {
    const found: unknown[] = [];
    for (const path of requests) {
      const response = await ann('GET', path);
      const { status, text, json } = response;
      if (status !== 200) {
        t.match([status, json.code], [400, 'INVALID_CURSOR'], `${path} ${text}`);
        found.push(status);
        continue;
      }
      const ids = idsOf(response);
      t.ok(isShown(ids), path);
      // A page without records repeats the place of the request.
      const cursors = ids.length === 0 ? [] : [json.links.next, json.links.prev].map(cursorIn);
      for (const cursor of cursors) if (cursor !== undefined) t.notMatch(valuesOf(cursor), HIDDEN, path);
      found.push(ids);
    }
    return found;
  };
  const before = await seen();
  t.ok(before.filter((each) => each !== 400).length > 10 * queries.length);
  for (const [at, { id, owner }] of files.entries()) {
    if (owner === 'everybody') continue;
    const change = { secret: `${AFTER} ${24 - at}`, size: -at, due: `2010-01-0${1 + (at % 3)}T00:00:00Z` };
    const { status, text } = await admin('PATCH', `/files/${id}`, {
      ...change,
      ...(owner === 'bob' && { title: `${AFTER} ${at}` }),
    });
    t.equal(status, 200, text);
  }
  t.same(await seen(), before, 'the responses do not depend on hidden values');
});

t.test('a cursor of the feed or of a history shows the changes that its caller may read', async (t) => {
  const { service, admin, ann, files } = await open(t);
  await whenEventsAreFinal(service);
  const hidden = files.filter(({ owner }) => owner === 'bob').map(({ id }) => id);
  const own = files.find(({ owner }) => owner === 'ann')!.id;
  for (const text of ['one', 'two', 'three'])
    await admin('PATCH', `/files/${own}`, { title: text, secret: `${BEFORE} ${text}` });
  await admin('PATCH', `/files/${hidden[0]!}`, { title: `${BEFORE} again` });
  await whenEventsAreFinal(service);
  const feed = (await admin('GET', '/events?limit=1000')).json;
  const positions = [...feed.data.map(({ sequence }: JsonObject) => String(sequence)), feed.meta.cursor];
  t.ok(positions.length > 20);
  const first = positions[0]!;
  const forgeries = [
    ...positions,
    ...[0, 1, 5, 40].map((n) => n.toString(36).padStart(11, '0') + first.slice(11)),
    first.slice(0, 11),
    `${first.slice(0, 11)}-000000`,
    'zzzzzzzzzzz',
    `${first}'`,
    first.toUpperCase(),
  ];
  for (const cursor of forgeries.map(encodeURIComponent))
    for (const path of [
      `/events?types=files.*&after=${cursor}`,
      `/events?types=files.*&limit=2&after=${cursor}`,
      `/events?types=files.*&filter[secret][prefix]=${BEFORE.slice(0, 3)}&after=${cursor}`,
      `/files/${own}/history?after=${cursor}`,
      `/files/${own}/history?limit=1&after=${cursor}`,
      `/files/${hidden[0]!}/history?after=${cursor}`,
    ]) {
      const { status, text } = await ann('GET', path);
      t.ok([200, 400, 404, 410].includes(status), `${path} ${text}`);
      t.notMatch(text, new RegExp(`${BEFORE}|${hidden.join('|')}`), path);
      if (path.includes(hidden[0]!)) t.equal(status, 404, path);
    }
});
