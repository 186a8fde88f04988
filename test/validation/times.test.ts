import { declare } from '../support/collections.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';
import { words } from '../support/words.js';

/** Texts of each format: those that are valid and those that are not. */
const TEXTS: Readonly<Record<string, { readonly valid: string[]; readonly invalid: string[] }>> = {
  'date-time': {
    valid: [
      ...words(`
    2020-01-01T00:00:00Z 2020-01-01t00:00:00z 2020-01-01T00:00:00.123+01:30 2020-02-29T23:59:59-00:00
    2020-01-01T00:00:00+23:59 1998-12-31T23:59:60Z 1998-12-31T23:59:60.5Z 1999-01-01T00:59:60+01:00
    1998-12-31T15:59:60-08:00 0000-01-01T00:00:00Z 0099-12-31T00:00:00Z 9999-12-31T23:59:59.999Z
  `),
      '2020-01-01 00:00:00Z',
    ],
    invalid: [
      '',
      ...words(`
        2020-01-01T00:00:00 2020-01-01T00:00:00+01 2020-01-01T00:00:00+0100 2020-01-01T00:00:00+24:00
        2020-01-01T00:00:00+01:60 2020-01-01T00:00:00Z+01:00 2020-01-01T24:00:00Z 2020-01-01T00:60:00Z
        2020-01-01T00:00Z 2020-01-01T00:00:00.Z 2020-01-01T00:00:00,5Z 2020-01-01T00:00:61Z
        1998-12-31T23:58:60Z 1998-12-31T23:59:60+01:00 2020-02-30T00:00:00Z 2019-02-29T00:00:00Z
        2020-13-01T00:00:00Z 2020-00-01T00:00:00Z 2020-1-1T00:00:00Z +12020-01-01T00:00:00Z
        -000001-01-01T00:00:00Z 0000-01-01T00:00:00+01:00 9999-12-31T23:59:59-01:00 9999-12-31T23:59:60Z
      `),
      '2020-01-01T00:00:00Z\n',
      '2020-01-01\tT00:00:00Z',
      '2020-01-01\n00:00:00Z',
      '２020-01-01T00:00:00Z',
      'Jan 1, 2020',
      '1577836800',
    ],
  },
  date: {
    valid: ['2020-02-29', '0000-02-29', '1900-02-28', '9999-12-31'],
    invalid: [...words('2020-02-30 1900-02-29 2020-04-31 2020-00-10 2020-1-1 20200101 2020-01-01Z'), ''],
  },
  time: {
    valid: ['00:00:00Z', '23:59:60Z', '00:29:60.25+00:30', '12:00:00.5-08:00', '12:00:00z'],
    invalid: [...words('12:00:00 24:00:00Z 12:00Z 12:00:00+01 12:00:60Z 12:60:00Z 12:00:00+24:00'), ''],
  },
  duration: {
    valid: ['P1D', 'PT1H30M', 'P1Y2M3DT4H5M6S', 'P2W', 'PT0S'],
    invalid: ['', 'P', 'PT', 'P1', 'P1S', 'PT1D', 'P1W1D', '1D', 'P-1D', 'p1d', 'P1.5D'],
  },
};
const NAMES = Object.keys(TEXTS);

const properties = Object.fromEntries(
  NAMES.flatMap((format) => [
    [format, { type: 'string', format, 'x-index': true }],
    [`plain ${format}`, { type: 'string', format }],
  ]),
);
/** The formats whose texts have the order of their values. */
const ORDERED = ['date-time', 'date'];
const EQUALITIES = ['eq', 'ne', 'in'];
const ORDERS = ['lt', 'lte', 'gt', 'gte'];
const EVENT = { title: 'Event', type: 'object', properties, 'x-collection': { list: 'page' } };

t.test('a text is a time for the format, the column and filters alike', async (t) => {
  const folder = declare(t, { 'meetings.json': EVENT });
  const { send } = await testService(t, { COLLECTIONS: folder, MIGRATE: 'auto' });
  for (const [format, { valid, invalid }] of Object.entries(TEXTS))
    for (const text of [...valid, ...invalid]) {
      const is = `${format} ${JSON.stringify(text)}`;
      const isValid = valid.includes(text);
      for (const field of [format, `plain ${format}`]) {
        const { status, json } = await send('POST', '/meetings', { body: { [field]: text } });
        t.equal(status, isValid ? 201 : 400, `${is}: ${field}`);
        if (!isValid) t.match(json.errors, [{ path: `/${field}`, keyword: 'format' }], is);
      }
      for (const operator of ORDERED.includes(format) ? [...EQUALITIES, ...ORDERS] : EQUALITIES) {
        const query = `filter%5B${format}%5D%5B${operator}%5D=${encodeURIComponent(text)}`;
        const list = await send(
          'GET',
          `/meetings?${operator === 'eq' ? query.replace('%5Beq%5D', '') : query}`,
        );
        t.equal(list.status, isValid ? 200 : 400, `${is}: ${operator}`);
        if (!isValid) t.equal(list.json.error.code, 'INVALID_QUERY');
        else if (operator === 'eq') t.ok(list.json.data.length > 0, `${is} is found`);
      }
      const value = { [format]: { in: [text] } };
      const query = await send('QUERY', '/meetings', { body: { filter: value } });
      t.equal(query.status, isValid ? 200 : 400, `${is}: QUERY`);
    }
});

t.test('times compare as points in time, whatever their zones', async (t) => {
  const folder = declare(t, {
    'meetings.json': {
      ...EVENT,
      properties: { ...properties, at: { ...properties['date-time'], 'x-unique': true } },
    },
  });
  const { send } = await testService(t, { COLLECTIONS: folder, MIGRATE: 'auto' });
  const inOrder = [
    '1998-12-31T23:59:59.999Z',
    '1998-12-31T23:59:60Z',
    '1998-12-31T16:00:00.001-08:00',
    '2020-01-01T10:00:00+09:00',
    '2020-01-01T00:30:00-01:00',
  ];
  for (const at of inOrder.toReversed())
    t.equal((await send('POST', '/meetings', { body: { at } })).status, 201);
  const read = async (query: string): Promise<string[]> =>
    (await send('GET', `/meetings?${query}`)).json.data.map(({ at }: { at: string }) => at);
  t.same(await read('sort=at&limit=9'), inOrder);
  t.same(await read('sort=at&filter[at][gt]=1999-01-01T00:00:00Z'), inOrder.slice(2));
  t.same(await read('sort=at&filter[at][gte]=2020-01-01'), inOrder.slice(3), 'a date is its start in UTC');
  t.same(await read('filter[at]=2020-01-01T01:30:00Z'), inOrder.slice(4));
  t.same(
    await read('sort=at&filter[at][prefix]=2020-01'),
    inOrder.slice(3),
    'a prefix is part of the time in UTC',
  );
  const same = await send('POST', '/meetings', { body: { at: '1999-01-01T00:00:00Z' } });
  t.equal(same.status, 409, 'a leap second is the second after it');
});

t.test('a filter is compared with the values that x-normalize makes', async (t) => {
  const at = { type: 'string', format: 'date-time', 'x-normalize': ['trim', 'lower'], 'x-index': true };
  const day = { type: 'string', format: 'date', 'x-normalize': ['trim'], 'x-index': true };
  const folder = declare(t, { 'meetings.json': { ...EVENT, properties: { at, day } } });
  const { send } = await testService(t, { COLLECTIONS: folder, MIGRATE: 'auto' });
  const body = { at: ' 2020-01-01T00:00:00Z', day: '2020-01-01 ' };
  t.equal((await send('POST', '/meetings', { body })).status, 201);
  for (const [name, text] of Object.entries(body)) {
    const { json } = await send('GET', `/meetings?filter[${name}]=${encodeURIComponent(text)}`);
    t.equal(json.data.length, 1, name);
  }
});
