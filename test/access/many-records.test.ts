import type { JsonObject } from '../../src/json.js';
import { openForCallers, valuesOf } from '../support/callers.js';
import { ADMIN, declared, reference, text, withAccess } from '../support/declared.js';
import { whenEventsAreFinal } from '../support/final-events.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';

const NDJSON = 'application/x-ndjson';
const isMember: JsonObject = { memberships: { some: { userName: '$caller' } } };

const DECLARATIONS = {
  'rooms.json': withAccess({ name: text }, [{ can: 'read', where: isMember }, ADMIN]),
  'memberships.json': withAccess({ roomId: reference('rooms'), userName: text }, [ADMIN]),
  'tickets.json': withAccess(
    {
      title: { ...text, 'x-normalize': ['trim', 'lower'] },
      status: { ...text, default: 'open' },
      code: { ...text, 'x-unique': true },
      estimate: { type: 'number', 'x-index': true },
      pin: { type: 'string', writeOnly: true },
      number: { type: 'integer', 'x-index': true, 'x-set': { next: true } },
      createdBy: { ...text, 'x-set': '$caller' },
      roomId: reference('rooms'),
    },
    [
      {
        can: 'create',
        where: { createdBy: '$caller', status: 'open', room: isMember, title: { ne: 'spam' } },
        fields: ['title', 'status', 'code', 'roomId'],
      },
      { can: 'create', where: { status: 'draft' } },
      { can: 'read', where: { createdBy: '$caller' }, fields: ['title'] },
      ADMIN,
    ],
    {},
    { required: ['title'] },
  ),
  // Without rules of its own.
  'remarks.json': declared({ text, roomId: reference('rooms') }),
  // The first seat of a hall is free for everybody.
  'halls.json': withAccess({}, [{ can: ['read', 'create'], to: 'anyone' }]),
  'seats.json': withAccess({ userName: text, hallId: reference('halls') }, [
    { can: 'create', where: { hall: { seats: { none: true } } }, to: 'anyone' },
    ADMIN,
  ]),
  'deals.json': withAccess({ tenant: text, roomId: reference('rooms') }, [
    { can: 'all', where: { tenant: '$claims.tenant' } },
  ]),
};

async function open(t: Test) {
  const { service, as: calls, admin: operator, made } = await openForCallers(t, DECLARATIONS);
  const as = async (...caller: [string, ...string[]]) => {
    const call = await calls(...caller);
    return (method: string, path: string, body?: unknown, headers = {}, type = 'application/json') =>
      call(method, path, body, { ...headers, ...(body !== undefined && { 'content-type': type }) });
  };
  const [room, other] = [await made('/rooms', { name: 'One' }), await made('/rooms', { name: 'Two' })];
  await made('/memberships', { roomId: room, userName: 'ann' });
  await made('/tickets', { title: 'taken', code: 'c1', roomId: other });
  return { service, as, operator, made, room, other, ann: await as('ann', 'self', 'remarks:write') };
}

const LENIENT = { prefer: 'handling=lenient' };
const lines = (records: readonly unknown[]) => records.map((each) => JSON.stringify(each)).join('\n');

type Fault = {
  readonly line: number;
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
};
const brief = (faults: readonly Fault[]) => faults.map(({ line, pointer, code }) => [line, pointer, code]);

t.test('each record of a body passes the rules of a single creation', async (t) => {
  const { service, operator, ann, room, other } = await open(t);
  const records = [
    { title: ' Leak ', roomId: room },
    { title: 'estimated', roomId: room, estimate: 5, code: 'c2', pin: '1234' },
    { title: 'closed', status: 'closed', roomId: room },
    { title: 'elsewhere', roomId: other },
    { title: 'nowhere', roomId: '01900000-0000-7000-8000-000000000000' },
    { title: 'taken', code: 'c1', roomId: room },
    { title: 'Draft', status: 'draft', estimate: 5, code: 'c3', pin: '1234' },
    { title: 'draft again', status: 'draft', code: 'c3' },
    { title: 'SPAM ', roomId: room },
    { title: 'mine', createdBy: 'bob', roomId: room },
    { title: 'counted', number: 7, roomId: room },
    { roomId: room, secret: true },
    { title: 'without a room' },
  ];
  const expected = [
    [2, '/estimate', 'FIELDS_DENIED'],
    [2, '/pin', 'FIELDS_DENIED'],
    [3, '', 'ACCESS_DENIED'],
    [4, '/roomId', 'ROOM_NOT_FOUND'],
    [5, '/roomId', 'ROOM_NOT_FOUND'],
    [6, '/code', 'DUPLICATE'],
    [8, '/code', 'DUPLICATE'],
    [9, '', 'ACCESS_DENIED'],
    [10, '/createdBy', 'VALIDATION_ERROR'],
    [11, '/number', 'VALIDATION_ERROR'],
    [12, '/title', 'VALIDATION_ERROR'],
    [13, '', 'ACCESS_DENIED'],
  ];
  const post = (headers: object) => ann('POST', '/tickets', lines(records), headers, NDJSON);

  const whole = await post({});
  t.match(whole, { status: 422, json: { error: { code: 'RECORDS_REFUSED', details: { stored: 0 } } } });
  t.same(brief(whole.json.error.details.faults), expected);
  t.equal((await operator('GET', '/tickets?page=1')).json.meta.total, 1, 'nothing is stored');

  const part = await post(LENIENT);
  t.match(part, { status: 201, json: { meta: { records: 13, stored: 2, refused: 11, omitted: 0 } } });
  t.same(brief(part.json.faults), expected);
  const { json: stored } = await operator('GET', '/tickets?sort=number');
  t.match(stored.slice(1), [
    { title: 'leak', status: 'open', number: 2, createdBy: 'ann', roomId: room },
    { title: 'draft', status: 'draft', number: 3, createdBy: 'ann', estimate: 5, code: 'c3' },
  ]);
  t.equal(stored.length, 3);

  for (const [at, record] of records.entries()) {
    const faults = (part.json.faults as Fault[]).filter(({ line }) => line === at + 1);
    if (faults.length === 0) continue;
    const { json } = await ann('POST', '/tickets', record);
    t.equal(json.error.code, faults[0]!.code, `alone: ${JSON.stringify(record)}`);
    if (json.error.code !== 'VALIDATION_ERROR')
      for (const { message } of faults) t.equal(message, json.error.message);
  }

  await whenEventsAreFinal(service);
  const events = (await operator('GET', '/events?types=tickets.created')).json.data;
  t.same(valuesOf(events, 'actor'), ['root', 'ann', 'ann']);
});

t.test('CSV, a job and a collection that only refers to one with rules obey the rules as well', async (t) => {
  const { ann, operator, room, other } = await open(t);
  const csv = await ann('POST', '/tickets', `title,roomId\na,${room}\nb,${other}\n`, LENIENT, 'text/csv');
  t.match(csv, { status: 201, json: { meta: { stored: 1 }, faults: [{ line: 3, code: 'ROOM_NOT_FOUND' }] } });

  const remarks = [{ text: 'here', roomId: room }, { text: 'there', roomId: other }, { text: 'nowhere' }];
  const noted = await ann('POST', '/remarks', lines(remarks), LENIENT, NDJSON);
  t.match([noted.status, noted.json.meta], [201, { stored: 2 }]);
  t.same(brief(noted.json.faults), [[2, '/roomId', 'ROOM_NOT_FOUND']]);

  const body = lines([{ title: 'late', roomId: room }, { title: 'later', roomId: room, estimate: 1 }, {}]);
  const jobOf = async (headers: object) => {
    const { status, headers: fields } = await ann('POST', '/tickets', body, headers, NDJSON);
    t.equal(status, 202);
    const look = async () => (await ann('GET', fields.location!)).json;
    return until('the job has ended', look, ({ state }) => ['done', 'failed'].includes(state));
  };
  const faults = [
    { line: 2, pointer: '/estimate', code: 'FIELDS_DENIED' },
    { line: 3, pointer: '/title', code: 'VALIDATION_ERROR' },
  ];
  t.match(await jobOf({ prefer: 'respond-async' }), {
    state: 'failed',
    error: { status: 422, code: 'RECORDS_REFUSED', details: { stored: 0, faults } },
  });
  t.match(await jobOf({ prefer: 'respond-async, handling=lenient' }), {
    state: 'done',
    report: { meta: { stored: 1, refused: 2 }, faults },
  });
  t.same(valuesOf((await operator('GET', '/tickets')).json, 'title'), ['taken', 'a', 'late']);
});

t.test('a record that others of its body affect is decided after these', async (t) => {
  const { service, operator, as, made } = await open(t);
  const ann = await as('ann', 'self');
  const [hall, second] = [await made('/halls', {}), await made('/halls', {})];
  const body = lines([
    { hallId: hall, userName: 'ann' },
    { hallId: hall, userName: 'bob' },
    { hallId: second, userName: 'bob' },
  ]);
  const part = await ann('POST', '/seats', body, LENIENT, NDJSON);
  t.match([part.status, part.json.meta], [201, { stored: 2 }]);
  t.same(brief(part.json.faults), [[2, '', 'ACCESS_DENIED']]);
  const whole = await ann('POST', '/seats', body, {}, NDJSON);
  t.same(valuesOf(whole.json.error.details.faults, 'line'), [1, 2, 3]);
  t.equal((await operator('GET', '/seats?page=1')).json.meta.total, 2);
  const third = await made('/halls', {});
  const two = lines([{ hallId: third }, { hallId: third }]);
  const stranger = await service.send('POST', '/seats', { type: NDJSON, body: two, headers: LENIENT });
  t.equal(stranger.status, 401, 'many records need a credential');
});

t.test('rules and requests that create nothing', async (t) => {
  const { service, as, room } = await open(t);
  const reader = await as('ann', 'tickets:read');
  const ann = await as('ann', 'self');
  const body = lines([{ title: 'a', roomId: room }]);
  const { status, json } = await reader('POST', '/tickets', body, LENIENT, NDJSON);
  t.same([status, json.error.code], [403, 'INSUFFICIENT_SCOPE']);
  t.equal((await service.send('POST', '/tickets', { type: NDJSON, body })).status, 401);
  const message = 'Access rules of deals name claims of a token. A job has none.';
  for (const prefer of ['respond-async', 'respond-async, handling=lenient'])
    t.match(await ann('POST', '/deals', '{}', { prefer }, NDJSON), {
      status: 400,
      json: { error: { message } },
    });
  const deals = await ann('POST', '/deals', '{}', LENIENT, NDJSON);
  t.match([deals.status, deals.json.meta], [201, { stored: 0 }]);
  t.match(deals.json.faults, [{ line: 1, code: 'ACCESS_DENIED' }]);
  t.equal((await ann('POST', `/rooms/${room}/tickets`, body, {}, NDJSON)).status, 404);
  const operations = [{ method: 'POST', path: '/tickets', body: { title: 'a' } }];
  const batch = await ann('POST', '/batch', { operations });
  t.same([batch.status, batch.json.error.code], [403, 'ACCESS_DENIED']);
});
