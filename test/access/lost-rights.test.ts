import type { JsonObject } from '../../src/json.js';
import type { Call } from '../support/callers.js';
import { makeKey } from '../support/credentials.js';
import { declared, reference, text } from '../support/declared.js';
import { type ServiceResponse, withoutRequestId } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';
import { openTracker } from './open-tracker.js';

const ABSENT = '01900000-0000-7000-8000-000000000000';
const NDJSON = 'application/x-ndjson';

/** Texts of records that a former member may not read. */
const SECRETS = /Leak|Flood|Roof|quagga/;

/** Scopes alone decide about notes. */
const MORE = { 'notes.json': declared({ text, issueId: reference('issues') }) };

/** A team with a member, and two issues. */
async function open(t: Test) {
  const tracker = await openTracker(t, MORE);
  const { made, user } = tracker;
  const [ann, bob] = [await user('ann'), await user('bob')];
  const team = await made('/teams', { name: 'One', ownerId: ann.id });
  await made('/memberships', { teamId: team, userId: ann.id, role: 'owner' });
  const membership = await made('/memberships', { teamId: team, userId: bob.id, role: 'member' });
  const project = await made('/projects', { title: 'Roof', teamId: team });
  const issue = (title: string) =>
    made('/issues', { title, projectId: project, text: 'quagga', estimate: 1 });
  return { ...tracker, ann, bob, membership, project, issue };
}

type Headers = Record<string, string>;

/** Preconditions with the validators that the caller got while it might read the record. */
const conditionsOf = (etag: string, modified: string): readonly Headers[] => [
  {},
  ...[etag, `W/${etag}`, '*', '"1"', '"99"'].flatMap((tag) => [
    { 'if-match': tag },
    { 'if-none-match': tag },
  ]),
  { 'if-modified-since': modified },
  { 'if-unmodified-since': modified },
  { 'if-none-match': etag, 'if-modified-since': modified },
  { 'if-match': etag, 'if-unmodified-since': modified },
];

const PATCH: Headers = { 'content-type': 'application/json-patch+json' };

/** Requests about a record, with preconditions. */
type About = (call: Call, id: string, headers: Headers) => Promise<ServiceResponse>;
const sends =
  (method: string, rest = '', body?: unknown, more: Headers = {}): About =>
  (call, id, headers) =>
    call(method, `/issues/${id}${rest}`, body, { ...headers, ...more });
const ABOUT: Readonly<Record<string, About>> = {
  GET: sends('GET'),
  'GET of fields': sends('GET', '?fields=title'),
  'GET as HTML': sends('GET', '', undefined, { accept: 'text/html' }),
  'GET as CSV': sends('GET', '', undefined, { accept: 'text/csv' }),
  HEAD: sends('HEAD'),
  PUT: sends('PUT', '', { title: 'new' }),
  PATCH: sends('PATCH', '', { title: 'new' }),
  'PATCH with a version': sends('PATCH', '', { _version: 1 }),
  'a JSON Patch': sends('PATCH', '', [{ op: 'test', path: '/title', value: 'Leak' }], PATCH),
  DELETE: sends('DELETE'),
  'a list below': sends('GET', '/comments?page=1'),
};

t.test('preconditions tell nothing of a record that its caller may read no longer', async (t) => {
  const { ann, bob, operator, membership, issue } = await open(t);
  const id = await issue('Leak');
  const readable = await bob.call('GET', `/issues/${id}`);
  const { etag, 'last-modified': modified } = readable.headers;
  t.match(readable, { status: 200, text: SECRETS });
  t.equal((await bob.call('GET', `/issues/${id}`, undefined, { 'if-none-match': etag! })).status, 304);
  t.equal((await ann.call('DELETE', `/memberships/${membership}`)).status, 204);
  const before = (await operator('GET', `/issues/${id}`)).text;
  const shown = (response: ServiceResponse, of: string) => {
    const { date: _, 'x-request-id': __, 'server-timing': ___, ...headers } = response.headers;
    return [response.status, withoutRequestId(response.text), JSON.stringify(headers)].map((each) =>
      String(each)
        .replaceAll(of, '<id>')
        .replace(/"(x-request-id|content-length)":"[^"]*",?/g, ''),
    );
  };
  for (const [name, send] of Object.entries(ABOUT))
    for (const headers of conditionsOf(etag!, String(modified ?? new Date().toUTCString()))) {
      const found = await send(bob.call, id, headers);
      const absent = await send(bob.call, ABSENT, headers);
      t.same(shown(found, id), shown(absent, ABSENT), `${name} ${JSON.stringify(headers)}`);
      t.notMatch(found.text, SECRETS, name);
    }
  t.equal((await operator('GET', `/issues/${id}`)).text, before, 'nothing has changed');
});

t.test('a validator of fields that its caller may read no longer is not current', async (t) => {
  const { ann, operator, issue, project } = await open(t);
  const id = await issue('Leak');
  t.equal((await operator('PATCH', `/issues/${id}`, { secret: 'quagga' })).status, 200);
  const paths = [`/issues/${id}`, `/issues/${id}?fields=secret`, `/projects/${project}/issues?page=1`];
  const tags = new Map<string, string | undefined>();
  for (const path of paths) {
    const { text, headers } = await ann.call('GET', path);
    t.match(text, /"secret":"quagga"/, path);
    tags.set(path, headers.etag);
  }
  const own = (await operator('GET', `/memberships?filter[userId]=${ann.id}`)).json.data[0].id;
  t.equal((await operator('PATCH', `/memberships/${own}`, { role: 'member' })).status, 200);
  for (const [path, etag] of tags) {
    const found = await ann.call('GET', path, undefined, etag === undefined ? {} : { 'if-none-match': etag });
    t.equal(found.status, 200, path);
    t.notMatch(found.text, /"secret"/, path);
    t.not(found.headers.etag ?? 'none', etag, path);
  }
});

/** Requests with a key of idempotence. */
type Keyed = (call: Call, target: { id: string; project: string }, key: Headers) => Promise<ServiceResponse>;
const [FLOOD, LINES] = [{ title: 'Flood' }, { 'content-type': NDJSON }];
const created =
  (fields: JsonObject, more: Headers = {}): Keyed =>
  (call, { project: projectId }, key) =>
    call('POST', '/issues', JSON.stringify({ ...fields, projectId }), { ...key, ...LINES, ...more });
const KEYED: Readonly<Record<string, Keyed>> = {
  POST: (call, { project: projectId }, key) => call('POST', '/issues', { ...FLOOD, projectId }, key),
  'POST below a parent': (call, { project }, key) => call('POST', `/projects/${project}/issues`, FLOOD, key),
  PATCH: (call, { id }, key) => call('PATCH', `/issues/${id}`, FLOOD, key),
  'a large record': (call, { id }, key) =>
    call('PATCH', `/issues/${id}`, { text: 'quagga'.repeat(2000) }, key),
  'PATCH of a list': (call, { id }, key) => call('PATCH', `/issues?filter[id]=${id}`, FLOOD, key),
  'many records': created(FLOOD),
  'a refused record': created({ title: 5 }, { prefer: 'handling=lenient' }),
  'a batch': (call, { id, project }, key) => {
    const operations = [
      { method: 'PATCH', path: `/issues/${id}`, body: FLOOD },
      { method: 'POST', path: '/issues', body: { ...FLOOD, projectId: project } },
      { method: 'GET', path: `/issues/${id}?include=project` },
      { method: 'GET', path: '/issues?page=1' },
      { method: 'QUERY', path: '/issues', body: { search: 'Floo', page: 1 } },
      { method: 'GET', path: '/issues?group=title' },
      { method: 'GET', path: `/projects/${project}?include=issues` },
    ];
    return call('POST', '/batch', operations, key);
  },
  'a job': created(FLOOD, { prefer: 'respond-async' }),
};

t.test('a repeat shows and writes nothing for a caller that has lost its rights', async (t) => {
  const { ann, bob, operator, made, membership, project, issue } = await open(t);
  const rows = await Promise.all(
    Object.entries(KEYED).map(async ([name, send], at) => ({
      ...{ name, send, key: { 'idempotency-key': `key-${at}` } },
      target: { id: await issue('Leak'), project },
    })),
  );
  for (const { name, send, key, target } of rows) {
    const { status, text, headers } = await send(bob.call, target, key);
    t.ok(status >= 200 && status < 300, `${name} ${text}`);
    if (status === 202)
      await until(
        'the job is done',
        () => bob.call('GET', headers.location!),
        ({ json }) => json.state === 'done',
      );
  }
  t.equal((await ann.call('DELETE', `/memberships/${membership}`)).status, 204);
  const all = async () => (await operator('GET', '/issues?page=1&limit=100&sort=created_at')).text;
  const before = await all();
  for (const { name, send, key, target } of rows) {
    const again = await send(bob.call, target, key);
    t.ok(again.status < 300, `${name} ${again.text}`);
    t.equal(again.headers['idempotency-replayed'], 'true', name);
    t.notMatch(again.text, SECRETS, name);
    const different = await send(bob.call, { ...target, project: ABSENT, id: ABSENT }, key);
    t.match([different.status, different.json.error.code], [422, 'IDEMPOTENCY_KEY_REUSED'], name);
    const anew = await send(bob.call, target, { 'idempotency-key': `${key['idempotency-key']}-new` });
    t.notMatch(anew.text, SECRETS, name);
  }
  t.equal(await all(), before, 'nothing has changed');
  await made('/memberships', {
    teamId: (await operator('GET', `/projects/${project}`)).json.teamId,
    userId: bob.id,
    role: 'guest',
  });
  for (const { name, send, key, target } of rows) {
    const again = await send(bob.call, target, key);
    t.ok(again.status < 300, `${name} ${again.text}`);
    t.notMatch(again.text, /"secret"/, name);
  }
  t.equal(await all(), before, 'nothing has changed');
});

t.test('a repeat with a credential of fewer scopes is refused', async (t) => {
  const { service, operator, as, bob } = await open(t);
  const keyOf = async (...scopes: string[]) =>
    as((await makeKey(service.db, { subject: bob.id, scopes })).key);
  const [writer, reader, bare] = [await keyOf('notes:write'), await keyOf('notes:read'), await keyOf('self')];
  const key = { 'idempotency-key': 'one' };
  const body = { text: 'quagga' };
  t.equal((await writer('POST', '/notes', body, key)).status, 201);
  for (const call of [reader, bare]) {
    const again = await call('POST', '/notes', body, key);
    t.match(again, { status: 403, json: { error: { code: 'INSUFFICIENT_SCOPE' } } });
    t.notMatch(again.text, SECRETS);
  }
  t.equal((await operator('GET', '/notes?page=1')).json.meta.total, 1);
});
