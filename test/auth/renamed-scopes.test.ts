import { ask, openForCallers } from '../support/callers.js';
import { declared } from '../support/declared.js';
import t, { type Test } from '../support/test.js';

const text = { type: 'string' };
const DECLARATIONS = {
  'works.json': declared(
    { title: { ...text, 'x-index': true } },
    { scopes: { read: 'catalogue.view', write: 'catalogue.manage' } },
  ),
  'copies.json': declared(
    { workId: { ...text, 'x-references': 'works', 'x-on-delete': 'cascade' } },
    { nested: true, scopes: { read: 'catalogue.view', write: 'desk' } },
  ),
  'notes.json': declared({}, { public: 'read', scopes: { write: 'pen' } }),
};

async function library(t: Test) {
  const { as, made } = await openForCallers(t, DECLARATIONS);
  const work = await made('/works', { title: 'Dune' });
  const copy = await made('/copies', { workId: work });
  return { as: (...scopes: string[]) => as('a program', ...scopes), work, copy };
}

t.test('a renamed scope that permits writing permits reading, of its own collection alone', async (t) => {
  const { as, work, copy } = await library(t);
  const callers = {
    manager: await as('catalogue.manage', 'events:read'),
    desk: await as('desk', 'events:read'),
    both: await as('desk', 'catalogue.manage', 'events:read'),
    viewer: await as('catalogue.view', 'events:read'),
    pen: await as('pen', 'events:read'),
  };
  type Caller = keyof typeof callers;
  const rows: [method: string, path: string, permitted: readonly Caller[], body?: object][] = [
    ['GET', '/works', ['manager', 'both', 'viewer']],
    ['GET', `/works/${work}`, ['manager', 'both', 'viewer']],
    ['QUERY', '/works', ['manager', 'both', 'viewer'], {}],
    ['GET', '/works?group=title', ['manager', 'both', 'viewer']],
    ['GET', '/copies', ['desk', 'both', 'viewer']],
    ['GET', `/copies/${copy}`, ['desk', 'both', 'viewer']],
    ['GET', '/copies?include=work', ['both', 'viewer']],
    ['GET', '/copies?filter[work][title]=Dune', ['both', 'viewer']],
    ['GET', '/works?include=copies', ['both', 'viewer']],
    ['GET', `/works/${work}/copies`, ['both', 'viewer']],
    ['POST', `/works/${work}/copies`, ['both'], {}],
    ['POST', '/copies', ['both'], { workId: work }],
    ['GET', '/events?types=works.*', ['manager', 'both', 'viewer']],
    ['GET', '/events?types=copies.*', ['desk', 'both', 'viewer']],
    ['GET', '/notes', ['manager', 'desk', 'both', 'viewer', 'pen']],
    ['POST', '/works', ['manager', 'both'], { title: 'Emma' }],
    ['POST', '/batch', ['manager', 'both', 'viewer'], [{ method: 'GET', path: `/works/${work}` }]],
  ];
  for (const [method, path, permitted, body] of rows)
    for (const [name, send] of Object.entries(callers)) {
      const { status, text } = await send(method, path, body);
      const says = `${method} ${path} by ${name}: ${status} ${text.slice(0, 100)}`;
      // Who may write copies, and not read works, cannot know whether the work exists.
      const refused = name === 'desk' && method === 'POST' && path === '/copies' ? 422 : 403;
      t.equal(permitted.includes(name as Caller) ? status < 300 : status === refused, true, says);
    }
});

t.test('documents and tools show what such a caller may read', async (t) => {
  const { as } = await library(t);
  for (const [scope, shown] of [
    ['catalogue.manage', true],
    ['desk', false],
  ] as const) {
    const send = await as(scope);
    const { paths } = (await send('GET', '/openapi.json')).json;
    t.equal(paths['/works']?.get !== undefined, shown, scope);
    const tools = await ask(send, 'tools/list');
    t.equal(tools.text.includes('"name":"works_list"'), shown, scope);
  }
});
