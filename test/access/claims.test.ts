import type { JsonObject } from '../../src/json.js';
import { declaredService } from '../support/callers.js';
import { AUDIENCE, claims, sign, signingKey, testIssuer } from '../support/issuer.js';
import t, { type Test } from '../support/test.js';

const [JSON_TYPE, NDJSON] = ['application/json', 'application/x-ndjson'];
const [MERGE_PATCH, JSON_PATCH] = ['application/merge-patch+json', 'application/json-patch+json'];
const text: JsonObject = { type: 'string', 'x-index': true };
const properties: JsonObject = { text, dealId: { type: 'string', 'x-references': 'deals' } };

const DECLARATIONS: Readonly<Record<string, JsonObject>> = {
  'deals.json': {
    type: 'object',
    properties: { tenant: text },
    'x-collection': { access: [{ can: 'all', where: { tenant: '$claims.tenant' } }] },
  },
  'offers.json': { type: 'object', properties },
  'bids.json': { type: 'object', properties, 'x-collection': { access: [{ can: 'all' }] } },
};

async function open(t: Test) {
  const key = await signingKey('es');
  const issuer = await testIssuer(t, key);
  const service = await declaredService(t, DECLARATIONS, { AUTH: 'bearer', ISSUER: issuer.url, AUDIENCE });
  const as = async (own: JsonObject) => {
    const scope = 'self offers:write';
    const token = await sign(key, claims(issuer.url, { ...own, sub: 'ann', scope }));
    return (method: string, path: string, body?: unknown, type = JSON_TYPE, prefer = '') =>
      service.send(method, path, {
        ...(body === undefined ? {} : { body: body as JsonObject, type }),
        headers: { authorization: `Bearer ${token}`, ...(prefer === '' ? {} : { prefer }) },
      });
  };
  const [tenant, other] = [await as({ tenant: 'a' }), await as({})];
  const { json } = await tenant('POST', '/deals', { tenant: 'a' });
  return { tenant, other, dealId: json.id as string };
}

type Call = Awaited<ReturnType<typeof open>>['tenant'];
type Response = Awaited<ReturnType<Call>>;

/** The code of the first fault of a response to many records, or the status and the code of another one. */
const outcomeOf = ({ status, json }: Response): string => {
  const fault = (json?.faults ?? json?.error?.details?.faults)?.[0]?.code;
  return `${status}${fault || json?.error?.code ? ` ${fault ?? json.error.code}` : ''}`;
};

/** A request that sets a reference, with what a caller without the claim gets, and one that has it. */
type Surface = readonly [
  name: string,
  request: (call: Call, collection: string, id: string, dealId: string) => Promise<Response>,
  without: string,
  withClaim: string,
];
const REFUSED = '422 DEAL_NOT_FOUND';
const SURFACES: readonly Surface[] = [
  ['POST', (call, name, _, dealId) => call('POST', `/${name}`, { text: 'new', dealId }), REFUSED, '201'],
  ['PUT', (call, name, id, dealId) => call('PUT', `/${name}/${id}`, { text: 'x', dealId }), REFUSED, '200'],
  ...[JSON_TYPE, MERGE_PATCH].flatMap((type): Surface[] => [
    [
      `PATCH ${type}`,
      (call, name, id, dealId) => call('PATCH', `/${name}/${id}`, { dealId }, type),
      REFUSED,
      '200',
    ],
    [
      `bulk ${type}`,
      (call, name, _, dealId) => call('PATCH', `/${name}?filter[text]=x`, { dealId }, type),
      REFUSED,
      '200',
    ],
  ]),
  ...(['/dealId', ''] as const).flatMap((path): Surface[] => {
    const operations = (dealId: string) => [
      path === ''
        ? { op: 'replace', path, value: { text: 'x', dealId } }
        : { op: 'add', path, value: dealId },
    ];
    return [
      [
        `bulk JSON Patch of "${path}"`,
        (call, name, _, dealId) => call('PATCH', `/${name}?filter[text]=x`, operations(dealId), JSON_PATCH),
        REFUSED,
        '200',
      ],
    ];
  }),
  [
    'batch',
    (call, name, id, dealId) =>
      call('POST', '/batch', { operations: [{ method: 'PATCH', path: `/${name}/${id}`, body: { dealId } }] }),
    REFUSED,
    '200',
  ],
  [
    'bulk in a batch',
    (call, name, _, dealId) =>
      call('POST', '/batch', {
        operations: [{ method: 'PATCH', path: `/${name}?filter[text]=x`, body: { dealId } }],
      }),
    REFUSED,
    '200',
  ],
  ...(['', 'handling=lenient'] as const).flatMap((prefer): Surface[] => [
    [
      `lines ${prefer}`,
      (call, name, _, dealId) => call('POST', `/${name}`, JSON.stringify({ dealId }), NDJSON, prefer),
      prefer === '' ? REFUSED : '201 DEAL_NOT_FOUND',
      '201',
    ],
    [
      `job of lines ${prefer}`,
      (call, name, _, dealId) =>
        call(
          'POST',
          `/${name}`,
          JSON.stringify({ dealId }),
          NDJSON,
          `respond-async${prefer && `, ${prefer}`}`,
        ),
      '400 BAD_REQUEST',
      '400 BAD_REQUEST',
    ],
  ]),
];

t.test('a reference to a record that needs a claim is decided in one way on every surface', async (t) => {
  const { tenant, other, dealId } = await open(t);
  for (const name of ['offers', 'bids'])
    for (const [surface, request, without, withClaim] of SURFACES)
      for (const [caller, call, expected] of [
        ['without the claim', other, without],
        ['with the claim', tenant, withClaim],
      ] as const) {
        const { json } = await tenant('POST', `/${name}`, { text: 'x' });
        const reply = await request(call, name, json.id, dealId);
        const label = `${name}, ${surface}, ${caller}`;
        t.equal(outcomeOf(reply), expected, `${label}: ${reply.text.slice(0, 200)}`);
        if (reply.status === 400) t.match(reply.json.error.message, /of deals name claims/, label);
        t.equal((await tenant('DELETE', `/${name}?filter[id][ne]=${dealId}`)).status, 200, label);
      }
});
