import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { freshService, testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';

const NUMBER = { type: 'integer', 'x-index': true };
const ISSUES = {
  title: 'Issue',
  type: 'object',
  required: ['projectId'],
  properties: {
    projectId: { type: 'string', 'x-references': 'projects', 'x-immutable': true, 'x-on-delete': 'cascade' },
    number: { ...NUMBER, 'x-set': { next: 'projectId' } },
    serial: { type: 'integer', 'x-unique': true, 'x-set': { next: true } },
    code: { type: 'string', 'x-unique': true },
    "it's \u0001": { ...NUMBER, 'x-set': { next: true } },
  },
  'x-collection': { unique: [['projectId', 'number']], nested: true, ids: 'client' },
};
const FILES = {
  'projects.json': { title: 'Project', type: 'object', properties: { name: { type: 'string' } } },
  'issues.json': ISSUES,
};

async function service(t: Test, env: Record<string, string> = {}) {
  const COLLECTIONS = declare(t, FILES);
  const opened = await testService(t, { COLLECTIONS, MIGRATE: 'auto', ...env });
  const project = async (): Promise<string> => (await opened.send('POST', '/projects', { body: {} })).json.id;
  const create = (body: object) => opened.send('POST', '/issues', { body });
  const numbers = async (projectId: string, field = 'number'): Promise<number[]> => {
    const { json } = await opened.send('GET', `/projects/${projectId}/issues`);
    return json.map((each: Record<string, number>) => each[field]).sort((a: number, b: number) => a - b);
  };
  return { ...opened, project, create, numbers, COLLECTIONS };
}

const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, at) => first + at);
const others = (body: Record<string, unknown>) => [body.number, body.serial, body["it's \u0001"]];

t.test('64 writers get numbers without gaps, of each parent and of the collection', async (t) => {
  const { project, create, numbers, send } = await service(t);
  const projects = [await project(), await project(), await project()];
  const made = await Promise.all(
    Array.from({ length: 64 }, async (_, writer) => {
      const own = [];
      for (let at = 0; at < 4; at++) {
        const projectId = projects[(writer + at) % 3]!;
        own.push(
          at % 2 === 0
            ? await create({ projectId })
            : await send('POST', `/projects/${projectId}/issues`, { body: {} }),
        );
      }
      return own;
    }),
  );
  for (const { status } of made.flat()) t.equal(status, 201);
  const counts = await Promise.all(projects.map((id) => numbers(id)));
  for (const all of counts) t.same(all, upTo(all.length));
  t.equal(counts.flat().length, 256);
  t.same(
    made
      .flat()
      .map(({ json }) => json.serial)
      .sort((a, b) => a - b),
    upTo(256),
  );
  for (const { json } of made.flat()) {
    t.equal(json["it's \u0001"], json.serial);
    const { json: stored } = await send('GET', `/issues/${json.id}`);
    t.same(stored, json, 'the response is what is stored');
    break;
  }
  const [first] = made.flat();
  t.match((await send('GET', `/issues?page=1&filter[serial]=${first!.json.serial}`)).json.data, [
    { id: first!.json.id, number: first!.json.number },
  ]);
});

t.test('a write that fails gives its number back', async (t) => {
  const { project, create, numbers, send } = await service(t);
  const projectId = await project();
  t.equal((await create({ projectId, code: 'a' })).json.number, 1);
  const mixed = await Promise.all(
    Array.from({ length: 64 }, (_, at) => create({ projectId, code: at % 2 ? 'a' : `c${at}` })),
  );
  t.same(
    mixed.map(({ status }) => status),
    Array.from({ length: 64 }, (_, at) => (at % 2 ? 409 : 201)),
  );
  t.same(await numbers(projectId), upTo(33));
  t.equal((await create({ projectId: '01900000-0000-7000-8000-000000000000' })).status, 422);
  const operation = (code: string) => ({ method: 'POST', path: '/issues', body: { projectId, code } });
  t.equal((await send('POST', '/batch', { body: [operation('x'), operation('a')] })).status, 409);
  const batch = await send('POST', '/batch', { body: [operation('x'), operation('y')] });
  t.match(batch.json.results, [{ body: { number: 34, serial: 34 } }, { body: { number: 35, serial: 35 } }]);
  const key = { 'idempotency-key': 'k' };
  const once = await send('POST', '/issues', { body: { projectId }, headers: key });
  t.same((await send('POST', '/issues', { body: { projectId }, headers: key })).json, once.json);
  t.same(others(once.json), [36, 36, 36]);
  const upsert = (title: string) => send('PUT', '/issues?filter[code]=u', { body: { projectId, title } });
  t.same(others((await upsert('one')).json), [37, 37, 37]);
  t.same(others((await upsert('two')).json), [37, 37, 37]);
  t.equal((await send('DELETE', `/issues/${once.json.id}`)).status, 204);
  t.equal((await create({ projectId })).json.number, 38, 'the number of a deleted record is not used again');
});

t.test('64 writers in batches, with ids of their own and by unique keys', async (t) => {
  const { project, numbers, send } = await service(t);
  const projects = [await project(), await project()];
  const statuses = await Promise.all(
    Array.from({ length: 64 }, async (_, writer) => {
      const [one, two] = writer % 2 === 0 ? projects : projects.toReversed();
      const operations = [one, two].map((projectId) => ({
        method: 'POST',
        path: '/issues',
        body: { projectId },
      }));
      if (writer % 4 < 2) return (await send('POST', '/batch', { body: operations })).status;
      if (writer % 4 === 2)
        return (await send('PUT', `/issues?filter[code]=w${writer % 8}`, { body: { projectId: one } }))
          .status;
      const id = `${Date.now()
        .toString(16)
        .padStart(12, '0')
        .replace(/^(.{8})/, '$1-')}-7000-8000-${String(writer >> 3).padStart(12, '0')}`;
      const put = await send('PUT', `/issues/${id}`, {
        body: { projectId: one },
        headers: { 'if-none-match': '*' },
      });
      return put.status === 412 ? 201 : put.status;
    }),
  );
  t.same([...new Set(statuses)].sort(), [200, 201]);
  for (const id of projects) {
    const all = await numbers(id);
    t.same(all, upTo(all.length));
  }
  const all = (await Promise.all(projects.map((id) => numbers(id, 'serial')))).flat().sort((a, b) => a - b);
  t.same(all, upTo(all.length));
});

t.test('numbers are read-only, and stay as they are', async (t) => {
  const { project, create, send } = await service(t);
  const projectId = await project();
  const refused = { status: 400, json: { errors: [{ path: '/number', keyword: 'readOnly' }] } };
  t.match(await create({ projectId, number: 7 }), refused);
  const { json } = await create({ projectId });
  const path = `/issues/${json.id}`;
  t.match(await send('PATCH', path, { body: { number: 7 } }), refused);
  t.match(await send('PUT', path, { body: { projectId, number: 7 } }), refused);
  t.match(await send('PATCH', path, { body: { projectId: await project() } }), {
    status: 400,
    json: { errors: [{ path: '/projectId', keyword: 'immutable' }] },
  });
  t.match(await send('PUT', path, { body: { projectId } }), { status: 200, json: { number: 1, serial: 1 } });
  t.match(await send('PATCH', path, { body: { code: 'x' } }), {
    status: 200,
    json: { number: 1, serial: 1 },
  });
});

t.test('an import retains numbers and continues them', async (t) => {
  const { project, create, numbers, COLLECTIONS, databaseUrl } = await service(t);
  const projectId = await project();
  t.equal((await create({ projectId })).json.number, 1);
  const lines = [{ number: 10, serial: 5 }, {}, { code: 'same' }, { code: 'same' }, {}].map((each) =>
    JSON.stringify({ projectId, ...each }),
  );
  const file = join(COLLECTIONS, 'issues.ndjson');
  writeFileSync(file, lines.join('\n'));
  const { code, out } = await plinth(t, ['import', 'issues', file], {
    COLLECTIONS,
    DATABASE_URL: databaseUrl,
  });
  t.equal(code, 1);
  t.equal(out, 'issues: 4 stored, 1 refused\n');
  t.same(await numbers(projectId), [1, 10, 11, 12, 13]);
  t.same(await numbers(projectId, 'serial'), [1, 5, 6, 7, 8]);
  t.match((await create({ projectId })).json, { number: 14, serial: 9 });
  const other = await project();
  t.match((await create({ projectId: other })).json, { number: 1, serial: 10 });
});

t.test('numbers that are declared for an existing collection continue its values', async (t) => {
  const { 'x-set': _number, ...number } = ISSUES.properties.number;
  const { 'x-set': _serial, ...serial } = ISSUES.properties.serial;
  const former = {
    ...ISSUES,
    properties: { projectId: ISSUES.properties.projectId, code: ISSUES.properties.code, number, serial },
  };
  const before = declare(t, { ...FILES, 'issues.json': former });
  const first = await freshService(t, { COLLECTIONS: before, MIGRATE: 'auto' });
  const projectId: string = (await first.send('POST', '/projects', { body: {} })).json.id;
  for (const body of [{ projectId, number: 41, serial: 7 }, { projectId }])
    t.equal((await first.send('POST', '/issues', { body })).status, 201);
  const { databaseUrl } = first;
  await first.stop();
  const after = await freshService(t, {
    COLLECTIONS: declare(t, FILES),
    MIGRATE: 'auto',
    DATABASE_URL: databaseUrl,
  });
  const create = () => after.send('POST', '/issues', { body: { projectId } });
  t.same(others((await create()).json), [42, 8, 1]);
  t.same(others((await create()).json), [43, 9, 2]);
  await after.stop();

  const { number: present, ...rest } = ISSUES.properties;
  const renamed = {
    ...ISSUES,
    properties: { ...rest, no: { ...present, 'x-was': 'number' } },
    'x-collection': { ...ISSUES['x-collection'], unique: [['projectId', 'no']], was: 'issues' },
  };
  const COLLECTIONS = declare(t, { 'projects.json': FILES['projects.json'], 'bugs.json': renamed });
  const last = await freshService(t, { COLLECTIONS, MIGRATE: 'auto', DATABASE_URL: databaseUrl });
  const [newest] = (await last.send('GET', '/bugs?page=1&filter[no]=43')).json.data;
  t.equal((await last.send('DELETE', `/bugs/${newest.id}`)).status, 204);
  t.match((await last.send('POST', '/bugs', { body: { projectId } })).json, { no: 44, serial: 10 });
});
