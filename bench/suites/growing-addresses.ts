import {
  ADDRESS,
  arrayOf,
  BODY,
  FORM,
  filled,
  HEADERS,
  type Input,
  JSON_TYPE,
  members,
  objectOf,
  post,
  QUERY,
  type Sent,
  zeros,
} from './growing-input.js';

const fields = (name: string, of: (bytes: number) => Sent['headers'], more: Partial<Sent> = {}): Input => ({
  name: `header ${name}`,
  bytes: HEADERS,
  sent: (n) => ({ method: 'GET', path: '/items?page=1', ...more, headers: { ...of(n), ...more.headers } }),
});

/** Long header fields. */
export const HEADER_FIELDS: readonly Input[] = [
  fields('Accept: ranges', (n) => ({ accept: filled(n, 'a/b;q=0.1') })),
  fields('Accept: parameters', (n) => ({ accept: `text/html${';a=b'.repeat(n / 4)}` })),
  fields('Accept: problem+json', (n) => ({ accept: `problem+json,${filled(n, '*/*;q=0')}` })),
  fields('Accept-Encoding', (n) => ({ 'accept-encoding': filled(n, 'x;q=0.1') })),
  fields('Accept-Encoding: spaces', (n) => ({ 'accept-encoding': `gzip${' '.repeat(n)};q=1` })),
  fields('Accept-Language', (n) => ({ 'accept-language': filled(n, 'x;q=0.1') })),
  fields('If-None-Match: tags', (n) => ({ 'if-none-match': filled(n, '"a"') })),
  fields('If-None-Match: commas', (n) => ({ 'if-none-match': `${','.repeat(n)}"` })),
  fields('If-Modified-Since', (n) => ({ 'if-modified-since': ' '.repeat(n) })),
  fields('Prefer: commas', (n) => ({ prefer: ','.repeat(n) })),
  fields('Prefer: quotation marks', (n) => ({ prefer: `"${'\\"'.repeat(n / 2)}` })),
  fields('Prefer: spaces', (n) => ({ prefer: `return${' '.repeat(n)}x` })),
  fields('Cookie', (n) => ({ cookie: filled(n, (at) => `a${at}=b`, '; ') })),
  fields('Cookie: equal names', (n) => ({ cookie: filled(n, 'plinth=b', ';') })),
  fields('Forwarded', (n) => ({ forwarded: filled(n, 'for=1') })),
  fields('X-Forwarded-For', (n) => ({ 'x-forwarded-for': filled(n, '::1') })),
  fields('Authorization: Basic', (n) => ({
    authorization: `Basic ${Buffer.from('\u0316\u0301'.repeat(n / 6)).toString('base64')}`,
  })),
  fields('Authorization: Bearer', (n) => ({ authorization: `Bearer ${'a.'.repeat(n / 2)}` })),
  fields('Authorization: spaces', (n) => ({ authorization: `Bearer${' '.repeat(n)}` })),
  fields('Content-Type', (n) => ({ 'content-type': `application/json${';a=b'.repeat(n / 4)}` }), {
    method: 'POST',
    path: '/items',
    body: '{}',
  }),
  fields('Content-Encoding', (n) => ({ 'content-encoding': filled(n, 'gzip') }), {
    method: 'POST',
    path: '/items',
    body: '{}',
  }),
  fields('Idempotency-Key', (n) => ({ 'content-type': JSON_TYPE, 'idempotency-key': 'k'.repeat(n) }), {
    method: 'POST',
    path: '/items',
    body: '{}',
  }),
  fields('Traceparent', (n) => ({ traceparent: '0-'.repeat(n / 2), tracestate: filled(n / 3, 'a=b') })),
  fields('X-Request-Id', (n) => ({ 'x-request-id': 'a-'.repeat(n / 2) })),
  fields('Origin', (n) => ({ origin: `http://${'a.'.repeat(n / 2)}` })),
  fields('many names', (n) => Object.fromEntries(Array.from({ length: n / 8 }, (_, at) => [`x${at}`, 'a']))),
  fields('Last-Event-ID', (n) => ({ 'last-event-id': '0'.repeat(n) }), { path: '/events?limit=1' }),
];

const address = (name: string, query: (bytes: number) => string, path = '/texts'): Input => ({
  name: `address: ${name}`,
  bytes: ADDRESS,
  sent: (n) => ({ method: 'GET', path: `${path}?${query(n)}` }),
});

/** Long addresses. */
export const ADDRESSES: readonly Input[] = [
  address('names', (n) => filled(n, (at) => `_${at}=1`, '&')),
  address('unknown names', (n) => filled(n, (at) => `x${at}=1`, '&')),
  address('ampersands', (n) => '&'.repeat(n)),
  address('equal names', (n) => filled(n, 'page=1', '&')),
  address('escapes', (n) => `search=${'%2C'.repeat(n / 3)}`),
  address('an order', (n) => `sort=${filled(n, 'title')}`, '/api/v2/texts'),
  address('orders', (n) => filled(n, 'sort=-price', '&'), '/api/v2/texts'),
  address('fields', (n) => `fields=${filled(n, (at) => `f${at}`)}`, '/api/v2/texts'),
  address('include', (n) => `include=${filled(n, 'a.b')}`, '/api/v2/texts'),
  address('values', (n) => `filter[price][in]=${filled(n, '1')}`),
  address('conditions', (n) => filled(n, (at) => `filter[price][gt]=${at}`, '&')),
  address('conditions of names', (n) => filled(n, (at) => `filter[f${at}]=1`, '&')),
  address('brackets', (n) => `filter${'[or]'.repeat(n / 4)}=1`),
  address('open brackets', (n) => `filter${'['.repeat(n)}=1`),
  address('combining marks', (n) => `filter[note][contains]=a${'%CC%96%CC%81'.repeat(n / 12)}`),
  address('words', (n) => `search=${filled(n, 'a', '+')}`),
  address('quotation marks', (n) => `search=${'"-'.repeat(n / 2)}`),
  address('group', (n) => `group=${filled(n, 'price')}`),
  address(
    'a cursor',
    (n) => `after=${Buffer.from(arrayOf((n * 3) / 4 - 20, '1')).toString('base64url')}`,
    '/api/v2/texts',
  ),
  address('types of events', (n) => `types=${filled(n, 'items.*')}`, '/events'),
  address('a cursor of events', (n) => `after=${'0'.repeat(n)}`, '/events'),
  { name: 'address: segments', bytes: ADDRESS, sent: (n) => ({ method: 'GET', path: '/a'.repeat(n / 2) }) },
  {
    name: 'address: slashes',
    bytes: ADDRESS,
    sent: (n) => ({ method: 'GET', path: `/items${'/'.repeat(n)}` }),
  },
];

const query = (name: string, of: (bytes: number) => string): Input => ({
  name: `QUERY: ${name}`,
  bytes: QUERY,
  sent: (n) => ({ method: 'QUERY', path: '/texts', headers: { 'content-type': JSON_TYPE }, body: of(n) }),
});

/** Long queries in bodies. */
export const QUERIES: readonly Input[] = [
  query('conditions', (n) => `{"filter":${objectOf(n, (at) => `"f${at}":1`)}}`),
  query('values', (n) => `{"filter":{"price":{"in":${arrayOf(n, '1')}}}}`),
  query('a text', (n) => `{"filter":{"note":{"contains":"${'a,'.repeat(n / 2)}"}}}`),
  query('combining marks', (n) => `{"filter":{"note":{"contains":"a${'\u0316\u0301'.repeat(n / 4)}"}}}`),
  query('alternatives', (n) => `{"filter":{"or":${arrayOf(n, '{"price":1}')}}}`),
  query('depth', (n) => `{"filter":${'{"not":'.repeat(n / 9)}1${'}'.repeat(n / 9)}}`),
  query('fields', (n) => `{"fields":${arrayOf(n, (at) => `"f${at}"`)}}`),
  query('commas', (n) => `{"fields":"${','.repeat(n)}"}`),
  query('an order', (n) => `{"sort":${arrayOf(n, '"title"')}}`),
  query('backslashes', (n) => `{"fields":"${'\\\\'.repeat(n / 2)}"}`),
  query('names', (n) => objectOf(n, (at) => `"_${at}":1`)),
  query('a search', (n) => `{"search":"${'a '.repeat(n / 2)}"}`),
];

/** A form as a browser sends it. Without its token the response is 403 or, with too many fields, 400; both after it was read. */
const form = (name: string, content: (bytes: number) => string): Input => ({
  name: `form: ${name}`,
  bytes: BODY,
  sent: (n) => post('/items', FORM, content(n), { 'sec-fetch-site': 'same-origin' }),
});

/** Bodies of batches, of MCP and of forms. */
export const OTHERS: readonly Input[] = [
  {
    name: 'batch: unknown members',
    bytes: BODY,
    sent: (n) => post('/batch', JSON_TYPE, `[${members(n)}]`),
  },
  {
    name: 'batch: operations',
    bytes: BODY,
    sent: (n) =>
      post(
        '/batch',
        JSON_TYPE,
        `[${Array.from({ length: 100 }, () => `{"method":"POST","path":"/items","body":{"name":"x","a":"${'x'.repeat(n / 110)}"}}`).join(',')}]`,
      ),
  },
  {
    name: 'batch: paths',
    bytes: BODY / 2,
    sent: (n) =>
      post(
        '/batch',
        JSON_TYPE,
        `[${Array.from({ length: 100 }, () => `{"method":"GET","path":"/items?${'&'.repeat(n / 110)}"}`).join(',')}]`,
      ),
  },
  {
    name: 'MCP: arguments',
    bytes: BODY,
    sent: (n) =>
      post(
        '/mcp',
        JSON_TYPE,
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"items_create","arguments":{"record":{"name":"x","a":${zeros(n)}}}}}`,
        { accept: 'application/json, text/event-stream' },
      ),
  },
  {
    name: 'MCP: names of arguments',
    bytes: BODY,
    sent: (n) =>
      post(
        '/mcp',
        JSON_TYPE,
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"items_list","arguments":${members(n)}}}`,
        { accept: 'application/json, text/event-stream' },
      ),
  },
  {
    name: 'MCP: an array of messages',
    bytes: BODY,
    sent: (n) =>
      post('/mcp', JSON_TYPE, arrayOf(n, '{"jsonrpc":"2.0","id":1,"method":"ping"}'), {
        accept: 'application/json, text/event-stream',
      }),
  },
  {
    name: 'MCP: members of a message',
    bytes: BODY,
    sent: (n) =>
      post('/mcp', JSON_TYPE, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${members(n)}}`, {
        accept: 'application/json, text/event-stream',
      }),
  },
  form('names', (n) => filled(n, (at) => `a${at}=1`, '&')),
  form('equal names', (n) => filled(n, 'a=1', '&')),
  form('ampersands', (n) => '&'.repeat(n)),
  form('escapes', (n) => `a=${'%0D%0A'.repeat(n / 6)}`),
  {
    name: 'Idempotency-Key with a body',
    bytes: BODY,
    sent: (n) => post('/items', JSON_TYPE, `{"name":"x","a":${zeros(n)}}`, { 'idempotency-key': `k${n}` }),
  },
];
