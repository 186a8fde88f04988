import { follow } from '../events/follow.js';
import { connect } from '../features/mcp/session.js';
import { LOOPBACK, testTarget } from '../features/webhooks/target.js';
import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { makeKey } from '../support/credentials.js';
import { ADMIN, declared, text } from '../support/declared.js';
import { type TestService, testService, undeclaredDatabase } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';

const SECRET = 'hunter2';

type Files = Record<string, object>;

const collection = (properties: object, options: object): object =>
  declared(properties, { history: true, ...options });

/** A database, and services with one declaration after the other. */
async function deployments(t: Test, more: Record<string, string> = {}) {
  const env = {
    ...{
      ...LOOPBACK,
      DATABASE_URL: await undeclaredDatabase(t),
      AUTH: 'api-key',
      MCP: 'on',
      MIGRATE: 'auto',
    },
    ...more,
  };
  return {
    url: env.DATABASE_URL,
    /** A service with these declarations, after `migrate --allow-drop` with each of the others. */
    open: async (...declared: Files[]) => {
      for (const files of declared) {
        const { code, err } = await plinth(t, ['migrate', '--allow-drop'], {
          ...env,
          COLLECTIONS: declare(t, files as never),
        });
        t.equal(code, 0, err);
      }
      const service = await testService(t, { ...env, COLLECTIONS: declare(t, declared.at(-1)! as never) });
      return { service, as: (subject: string, scopes: string[]) => caller(service, subject, scopes) };
    },
  };
}

async function caller(service: TestService, subject: string, scopes: string[]) {
  const { key } = await makeKey(service.db, { subject, scopes });
  const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    service.send(method, path, {
      ...(body === undefined ? {} : { body }),
      headers: { 'x-api-key': key, ...headers },
    });
  return { key, send };
}

/** All that a caller reads of a collection and its changes. The last event of the collection has `the last`. */
async function readings(t: Test, service: TestService, key: string, name: string, id: string) {
  const headers = { 'x-api-key': key };
  const get = async (path: string, more: Record<string, string> = {}) => {
    const { status, text } = await service.send('GET', path, { headers: { ...headers, ...more } });
    return `${status} ${text}`;
  };
  const streamed = async (path: string, more: Record<string, string> = headers) => {
    const { text, leave } = await follow(t, service.url + path, more);
    await until('the stream is at its end', () => text().includes('the last'));
    leave();
    return text();
  };
  const ticket = await service.send('POST', '/events/tickets', { headers });
  const { call } = await connect(t, service.url, headers);
  const [one, ofType] = [`/${name}/${id}`, `types=${name}.*`];
  return {
    'the feed': await get('/events?limit=1000'),
    'the feed of the type': await get(`/events?${ofType}&limit=1000`),
    'the feed with a filter': await get(`/events?${ofType}&filter[title][lt]=i`),
    'the page of events': await get('/events', { accept: 'text/html' }),
    'the stream': await streamed(`/events?${ofType}`),
    'the stream of a ticket': await streamed(`${ticket.json._links.events.href}&${ofType}`, {}),
    'the history': await get(`${one}/history`),
    'the record': await get(one),
    'the page of the record': await get(one, { accept: 'text/html' }),
    'the CSV of the record': await get(one, { accept: 'text/csv' }),
    'the page of the list': await get(`/${name}`, { accept: 'text/html' }),
    'a tool for agents': JSON.stringify((await call(`${name}_list`)).value),
  };
}

const PRIVATE = collection({ title: text, state: text }, {});
const PUBLIC = collection({ title: text, state: text }, { public: 'read' });
const OTHER = collection({ title: text }, {});

for (const [way, between, after] of [
  [
    'renamed',
    { 'archive.json': collection({ title: text, state: text }, { was: 'secret' }) },
    { 'archive.json': PRIVATE, 'secret.json': PUBLIC },
  ],
  ['removed', { 'other.json': OTHER }, { 'other.json': OTHER, 'secret.json': PUBLIC }],
] as [string, Files, Files][]) {
  t.test(`nothing of a collection that was ${way} is that of another one with its name`, async (t) => {
    const target = await testTarget(t, () => 500);
    const { open } = await deployments(t);
    const before = await open({ 'secret.json': PRIVATE });
    const { send } = await before.as('root', ['admin']);
    const { json: hook, headers: first } = await send('POST', '/webhooks', {
      url: target.url,
      types: ['secret.*'],
    });
    const { id } = (await send('POST', '/secret', { title: SECRET })).json;
    const keyed: [string, string, unknown, Record<string, string>][] = [
      ['POST', '/secret', { title: SECRET }, { 'idempotency-key': 'one' }],
      ['PATCH', `/secret/${id}`, { state: 'open' }, { 'idempotency-key': 'two' }],
      [
        'POST',
        '/batch',
        [{ method: 'PATCH', path: `/secret/${id}`, body: { state: 'b' } }],
        { 'idempotency-key': 'three' },
      ],
    ];
    for (const request of keyed) t.match((await send(...request)).text, SECRET);
    const gone = (await send('POST', '/secret', { title: SECRET })).json.id;
    await send('DELETE', `/secret/${gone}`);
    const job = (
      await send('POST', '/secret', `{"title":"a"}\n{"title":"${SECRET}","state":["${SECRET}"]}\n`, {
        'content-type': 'application/x-ndjson',
        prefer: 'respond-async, handling=lenient',
      })
    ).headers.location!;
    await until('the job has ended', async () => (await send('GET', job)).json.state === 'done');
    t.match((await send('GET', job)).text, SECRET);
    await until(
      'a delivery has ended',
      async () => (await send('GET', `/webhooks/${hook.id}/deliveries?status=dead`)).json.data.length > 0,
    );
    await before.service.stop();

    const { service, as } = await open(between, after);
    const operator = await as('root', ['admin']);
    await operator.send('POST', '/secret', { title: 'the last' });
    const reader = await as('reader', ['events:read']);
    for (const [says, found] of Object.entries(await readings(t, service, reader.key, 'secret', id)))
      t.notMatch(found, SECRET, says);
    for (const path of ['/events?types=secret.*', `/secret/${id}/history`, '/secret'])
      t.notMatch((await operator.send('GET', path)).text, SECRET, `${path} of the operator`);
    for (const [method, path, body, headers] of keyed) {
      const again = await operator.send(method, path, body, headers);
      t.equal(again.headers['idempotency-replayed'], undefined, `${method} ${path} once more`);
      if (method !== 'POST') t.equal(again.status, 404);
    }

    const shown = (await operator.send('GET', job)).json;
    const delivered = (await operator.send('GET', `/webhooks/${hook.id}/deliveries`)).json.data;
    const old = delivered.filter(({ type }: { type: string }) => type !== 'secret.created');
    if (way === 'removed') {
      t.equal(shown.state, undefined, 'its jobs are removed');
      t.same(old, [], 'its deliveries are removed');
      return;
    }
    t.equal(shown.collection, 'archive');
    const { json: renamed, headers } = await operator.send('GET', `/webhooks/${hook.id}`);
    t.same(renamed.types, ['archive.*']);
    t.not(headers.etag, first.etag, 'the webhook has another version');
    t.match((await operator.send('GET', `/archive/${id}/history`)).json.data, [
      {},
      {},
      { type: 'archive.created' },
    ]);
    const keeper = await as('keeper', ['events:read', 'archive:read']);
    t.match((await keeper.send('GET', '/events?types=archive.*')).text, SECRET);
    const count = target.received.length;
    const dead = old.find(({ status }: { status: string }) => status === 'dead');
    await operator.send('POST', `/webhooks/${hook.id}/deliveries/${dead.id}/redeliver`);
    await until('it is delivered again', () => target.received.length > count);
    const message = JSON.parse(target.received.at(-1)!.body);
    t.match(message, { type: /^archive\./, subject: /^\/archive\// });
  });
}

const notes = (a: object, shown: string[], where?: object): Files => ({
  'notes.json': {
    ...collection(
      { title: text, ...a },
      {
        access: [{ can: 'read', to: 'anyone', fields: ['title', ...shown], ...(where && { where }) }, ADMIN],
      },
    ),
    additionalProperties: false,
  },
});
const was = (name: string) => ({ ...text, 'x-was': name });

for (const [way, ...declared] of [
  ['renamed', notes({ a: text }, []), notes({ b: was('a') }, []), notes({ b: text, a: text }, ['a'])],
  ['removed', notes({ a: text }, []), notes({}, []), notes({ a: text }, ['a'])],
  [
    'write-only',
    notes({ a: text }, []),
    notes({ a: { type: 'string', writeOnly: true } }, []),
    notes({ a: text }, ['a']),
  ],
  [
    'compared by other rules',
    notes({ a: text }, [], { title: 'the last' }),
    notes({ b: was('a') }, [], { title: 'the last' }),
    notes({ b: text, a: text }, ['a'], { or: [{ a: SECRET }, { title: 'the last' }] }),
  ],
] as [string, Files, ...Files[]][]) {
  t.test(`values of a field that was ${way} are not those of another one with its name`, async (t) => {
    const { open } = await deployments(t);
    const before = await open(declared[0]!);
    const { send } = await before.as('root', ['admin']);
    const { id } = (await send('POST', '/notes', { title: 'first', a: SECRET })).json;
    await send('PATCH', `/notes/${id}`, { title: 'second', a: `${SECRET} again` });
    await send('PATCH', `/notes/${id}`, { title: 'the last' });
    await before.service.stop();

    const { service, as } = await open(...declared.slice(1));
    const operator = await as('root', ['admin']);
    const { key, send: read } = await as('reader', ['events:read']);
    for (const [says, found] of Object.entries(await readings(t, service, key, 'notes', id)))
      t.notMatch(found, SECRET, says);
    t.same(
      (await read('GET', '/events?types=notes.*&filter[a][gte]=h')).json.data,
      [],
      'a filter finds no value',
    );
    const titles = (await read('GET', `/notes/${id}/history`)).json.data.length;
    t.equal(titles, way.startsWith('compared') ? 1 : 3, 'other fields are shown');
    await operator.send('PATCH', `/notes/${id}`, { a: 'new' });
    t.match((await read('GET', `/notes/${id}/history?limit=1`)).json.data, [
      { changes: [{ name: 'a', after: 'new' }] },
    ]);
    await until('a filter finds the new value', async () => {
      const { data } = (await read('GET', '/events?types=notes.*&filter[a]=new')).json;
      return data.length === 1 && data[0].match === 'entered';
    });
  });
}

for (const origin of ['the version before', 'a dump'])
  t.test(`events of ${origin} are those of collections that have had their names since`, async (t) => {
    const { url, open } = await deployments(t);
    const sql = sqlOf(t, url);
    const first = { 'secret.json': PRIVATE, 'tasks.json': PRIVATE, ...notes({ a: text }, []) };
    const before = await open(first);
    // The version before has no triggers on the table of the declarations.
    await sql`alter table collections disable trigger user`;
    const { send } = await before.as('root', ['admin']);
    await send('POST', '/secret', { title: SECRET });
    await send('POST', '/tasks', { title: 'a task' });
    const { id } = (await send('POST', '/notes', { title: 'first', a: SECRET })).json;
    await before.service.stop();
    const rest = { 'tasks.json': PUBLIC };
    const between = await open(
      { ...rest, ...notes({ b: was('a') }, []) },
      { ...rest, 'secret.json': PUBLIC, ...notes({ b: text, a: text }, ['a']) },
    );
    await between.service.stop();

    await sql`drop function plinth_follow_names, plinth_note_fields, plinth_newest cascade`;
    await sql`drop function plinth_types_of, plinth_age_of_name, plinth_forget_responses, plinth_forget_collection, plinth_rename_collection`;
    await sql`alter table collections drop column fields_since, drop column newest, drop column newest_at`;
    if (origin === 'a dump') await sql`update feed_epochs set history = '1.1.00000001'`;
    await sql`delete from migrations where name = '0370_plinth_names.sql'`;

    const { service, as } = await open({
      ...rest,
      'secret.json': PUBLIC,
      ...notes({ b: text, a: text }, ['a']),
    });
    const { key, send: read } = await as('reader', ['events:read']);
    const operator = await as('root', ['admin']);
    for (const name of ['secret', 'notes']) {
      await operator.send('POST', `/${name}`, { title: 'the last' });
      for (const [says, found] of Object.entries(await readings(t, service, key, name, id)))
        t.notMatch(found, SECRET, `${says} of ${name}`);
    }
    // Of a dump, PostgreSQL does not know when the table got its name.
    const { data } = (await read('GET', '/events?types=tasks.*')).json;
    t.equal(data.length, origin === 'a dump' ? 0 : 1, 'a change of rules is no other collection');
  });

t.test('a field that was added before the first event is in it', async (t) => {
  const { open } = await deployments(t);
  const { as } = await open(notes({}, []), notes({ a: text }, ['a']));
  await (await as('root', ['admin'])).send('POST', '/notes', { title: 'first', a: 'shown' });
  const { send } = await as('reader', ['events:read']);
  await until('the event has it', async () =>
    (await send('GET', '/events?types=notes.*')).text.includes('shown'),
  );
});
