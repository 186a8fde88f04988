import type { JsonObject } from '../../src/json.js';
import { callsWith, declaredService } from '../support/callers.js';
import { declared, text, withAccess } from '../support/declared.js';
import { AUDIENCE, claims, sign, signingKey, testIssuer } from '../support/issuer.js';
import t, { type Test } from '../support/test.js';

const [JSON_TYPE, NDJSON] = ['application/json', 'application/x-ndjson'];
const [MERGE_PATCH, JSON_PATCH] = ['application/merge-patch+json', 'application/json-patch+json'];
const properties: JsonObject = { text, dealId: { type: 'string', 'x-references': 'deals' } };

const DECLARATIONS: Readonly<Record<string, JsonObject>> = {
  'deals.json': withAccess({ tenant: text }, [{ can: 'all', where: { tenant: '$claims.tenant' } }]),
  'offers.json': declared(properties),
  'bids.json': withAccess(properties, [{ can: 'all' }]),
};

async function open(t: Test) {
  const key = await signingKey('es');
  const issuer = await testIssuer(t, key);
  const service = await declaredService(t, DECLARATIONS, { AUTH: 'bearer', ISSUER: issuer.url, AUDIENCE });
  const as = async (own: JsonObject) => {
    const scope = 'self offers:write';
    const token = await sign(key, claims(issuer.url, { ...own, sub: 'ann', scope }));
    const call = callsWith(service, { authorization: `Bearer ${token}` });
    return (method: string, path: string, body?: unknown, type = JSON_TYPE, prefer = '') =>
      call(method, path, body, { 'content-type': type, ...(prefer && { prefer }) });
  };
  const [tenant, other] = [await as({ tenant: 'a' }), await as({})];
  const { json } = await tenant('POST', '/deals', { tenant: 'a' });
  return { as, tenant, other, dealId: json.id as string };
}

type Call = Awaited<ReturnType<typeof open>>['tenant'];
type Response = Awaited<ReturnType<Call>>;

/** The code of the first fault of a response to many records, or the status and the code of another one. */
const outcomeOf = ({ status, json }: Response): string => {
  const fault = (json?.faults ?? json?.error?.details?.faults)?.[0]?.code;
  return `${status}${fault || json?.error?.code ? ` ${fault ?? json.error.code}` : ''}`;
};

/** A request that sets a reference, with what a caller that has the claim gets, and one without it. */
type Surface = readonly [
  name: string,
  request: (call: Call, collection: string, id: string, dealId: string) => Promise<Response>,
  withClaim: string,
  without?: string,
];
const REFUSED = '422 DEAL_NOT_FOUND';
const batch = (call: Call, path: string, dealId: string) =>
  call('POST', '/batch', { operations: [{ method: 'PATCH', path, body: { dealId } }] });
const whole = (dealId: string) => [{ op: 'replace', path: '', value: { text: 'x', dealId } }];
const member = (dealId: string) => [{ op: 'add', path: '/dealId', value: dealId }];
const patches = (name: string, body: (dealId: string) => unknown, type: string): readonly Surface[] => [
  [`PATCH ${name}`, (call, at, id, dealId) => call('PATCH', `/${at}/${id}`, body(dealId), type), '200'],
  [
    `bulk ${name}`,
    (call, at, _, dealId) => call('PATCH', `/${at}?filter[text]=x`, body(dealId), type),
    '200',
  ],
];
const lines = (prefer: string, withClaim: string, without = REFUSED): Surface => [
  `lines ${prefer}`,
  (call, name, _, dealId) => call('POST', `/${name}`, JSON.stringify({ dealId }), NDJSON, prefer),
  withClaim,
  without,
];
const SURFACES: readonly Surface[] = [
  ['POST', (call, name, _, dealId) => call('POST', `/${name}`, { text: 'new', dealId }), '201'],
  ['PUT', (call, name, id, dealId) => call('PUT', `/${name}/${id}`, { text: 'x', dealId }), '200'],
  ...patches('JSON', (dealId) => ({ dealId }), JSON_TYPE),
  ...patches('merge patch', (dealId) => ({ dealId }), MERGE_PATCH),
  ...patches('JSON Patch', member, JSON_PATCH),
  ...patches('JSON Patch of the whole', whole, JSON_PATCH),
  ['batch', (call, name, id, dealId) => batch(call, `/${name}/${id}`, dealId), '200'],
  ['bulk in a batch', (call, name, _, dealId) => batch(call, `/${name}?filter[text]=x`, dealId), '200'],
  lines('', '201'),
  lines('handling=lenient', '201', '201 DEAL_NOT_FOUND'),
  lines('respond-async', '400 BAD_REQUEST', '400 BAD_REQUEST'),
  lines('respond-async, handling=lenient', '400 BAD_REQUEST', '400 BAD_REQUEST'),
];

t.test('a page of callers with an empty claim is none of callers without the claim', async (t) => {
  const { as } = await open(t);
  const [empty, none] = [await as({ tenant: '' }), await as({})];
  t.equal((await empty('POST', '/deals', { tenant: '' })).status, 201);
  for (const [call, total] of [
    [none, 0],
    [empty, 1],
    [none, 0],
  ] as const)
    t.equal((await call('GET', '/deals?page=1')).json.meta.total, total);
});

t.test('a reference to a record that needs a claim is decided in one way on every surface', async (t) => {
  const { tenant, other, dealId } = await open(t);
  for (const name of ['offers', 'bids'])
    for (const [surface, request, withClaim, without = REFUSED] of SURFACES)
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
