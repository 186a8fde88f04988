import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { startProcess } from '../support/process.js';
import { send, undeclaredDatabase } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { notInDefault } from '../support/thorough.js';

type Schema = Readonly<Record<string, unknown>>;

const record = (properties: object, more: object = {}): Schema => ({
  title: 'Record',
  type: 'object',
  properties,
  ...more,
});
const text = (more: object = {}) => ({ type: 'string', ...more });
const within = (more: object) => record({ o: { type: 'object', properties: { n: text() }, ...more } });
const NO_ID = '01a22355-478c-70f2-9849-d0a98f931976';

/** Each kind of stricter rule: before, after, what a service with the former declaration writes, and how it violates the other. */
const RULES: Readonly<
  Record<string, readonly [before: Schema, after: Schema, body: object, failure?: RegExp]>
> = {
  required: [record({ f: text() }), record({ f: text() }, { required: ['f'] }), {}, /f/],
  pattern: [record({ f: text() }), record({ f: text({ pattern: '^a' }) }), { f: 'b' }, /\/f /],
  enumeration: [record({ f: text() }), record({ f: text({ enum: ['a'] }) }), { f: 'b' }, /\/f /],
  constant: [record({ f: text() }), record({ f: { const: 'a' } }), { f: 'b' }, /\/f /],
  max_length: [record({ f: text() }), record({ f: text({ maxLength: 1 }) }), { f: 'bb' }, /\/f /],
  maximum: [
    record({ f: { type: 'number' } }),
    record({ f: { type: 'number', maximum: 1 } }),
    { f: 2 },
    /\/f /,
  ],
  multiple: [record({ f: { type: 'number' } }), record({ f: { type: 'integer' } }), { f: 1.5 }, /\/f /],
  format: [record({ f: text() }), record({ f: text({ format: 'date' }) }), { f: 'b' }, /\/f /],
  unique: [
    record({ f: text() }),
    record({ f: text({ 'x-unique': true }) }),
    { f: 'a' },
    /\/f must be unique/,
  ],
  key: [
    record({ f: text(), g: text() }),
    record(
      { f: text({ 'x-index': true }), g: text({ 'x-index': true }) },
      { 'x-collection': { unique: [['f', 'g']] } },
    ),
    { f: 'a', g: 'a' },
    /\/f must be unique together/,
  ],
  reference: [
    record({ f: text() }),
    record({ f: text({ 'x-references': 'authors' }) }),
    { f: NO_ID },
    /is the id of no record/,
  ],
  references: [
    record({ f: { type: 'array', items: text() } }),
    record({
      f: { type: 'array', maxItems: 9, items: text({ 'x-references': 'authors', 'x-on-delete': 'remove' }) },
    }),
    { f: [NO_ID] },
    /is the id of no record/,
  ],
  index: [record({ f: text() }), record({ f: text({ 'x-index': true }) }), { f: 'b'.repeat(9000) }, /bytes/],
  elements: [
    record({ f: { type: 'array', items: text() } }),
    record({ f: { type: 'array', items: text({ maxLength: 1 }) } }),
    { f: ['bb'] },
    /\/f\/0 /,
  ],
  nested: [within({}), within({ properties: { n: text({ maxLength: 1 }) } }), { o: { n: 'bb' } }, /\/o\/n /],
  nested_required: [within({}), within({ required: ['n'] }), { o: {} }, /\/o/],
  closed: [record({ f: text() }), record({ f: text() }, { additionalProperties: false }), { g: 'b' }, /g/],
  combined: [record({ f: text() }), record({ f: text() }, { anyOf: [{ required: ['f'] }] }), {}, /f/],
  // The steps that change stored records change these, too.
  defaulted: [record({ f: text() }), record({ f: text({ default: 'a' }) }, { required: ['f'] }), {}],
  nested_default: [
    within({}),
    within({ properties: { n: text({ default: 'a' }) }, required: ['n'] }),
    { o: {} },
  ],
};
/** The first record of a collection: what the second is compared with. */
const FIRST: Readonly<Record<string, object>> = {
  required: { f: 'a' },
  combined: { f: 'a' },
  unique: { f: 'a' },
  key: { f: 'a', g: 'a' },
};

const VIOLATED = Object.keys(RULES).filter((name) => RULES[name]![3] !== undefined);

const folder = (t: Test, at: 0 | 1) =>
  declare(t, {
    'authors.json': record({ name: text() }),
    ...Object.fromEntries(Object.entries(RULES).map(([name, row]) => [`${name}.json`, row[at]])),
  });

t.test(
  '--violations lists records of services with former declarations',
  { skip: notInDefault },
  async (t) => {
    const DATABASE_URL = await undeclaredDatabase(t);
    const [before, after] = [folder(t, 0), folder(t, 1)];
    const present = { DATABASE_URL, COLLECTIONS: after };
    const former = startProcess(t, {
      DATABASE_URL,
      COLLECTIONS: before,
      MIGRATE: 'auto',
      LOG_LEVEL: 'error',
    });
    const base = await former.ready();
    for (const [name, body] of Object.entries(FIRST))
      t.equal((await send(base, 'POST', `/${name}`, { body })).status, 201, name);
    t.match(await plinth(t, ['migrate'], present), { code: 0, err: '' });

    const ids = new Map<string, string>();
    for (const [name, [, , body]] of Object.entries(RULES)) {
      const { status, json, text } = await send(base, 'POST', `/${name}`, { body });
      t.equal(status, 201, `${name}: ${text}`);
      ids.set(name, json.id);
    }
    const listed = await plinth(t, ['migrate', '--violations', '--json'], present);
    t.equal(listed.code, 1);
    const found = new Map(
      listed.out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { collection: string; id: string; path: string; message: string })
        .map((each) => [each.collection, each]),
    );
    t.same([...found.keys()].sort(), VIOLATED.toSorted());
    for (const name of VIOLATED) {
      const { id, path, message } = found.get(name)!;
      t.equal(id, ids.get(name));
      t.match(`${path} ${message}`, RULES[name]![3]!, name);
    }
    for (const name of VIOLATED) {
      const { status, text } = await send(base, 'DELETE', `/${name}/${ids.get(name)}`);
      t.equal(status, 204, `${name}: ${text}`);
    }
    former.child.kill('SIGTERM');
    t.equal(await former.ended, 0);
    t.match(await plinth(t, ['migrate', '--allow-drop'], present), { code: 0, err: '' });
    const { code, out, err } = await plinth(t, ['migrate', '--plan'], present);
    t.same([code, out, err], [0, '-- The database matches the declarations.\n', '']);
    const url = await startProcess(t, { ...present, MIGRATE: 'check' }).ready();
    for (const [name, field] of [
      ['defaulted', { f: 'a' }],
      ['nested_default', { o: { n: 'a' } }],
    ] as const)
      t.match((await send(url, 'GET', `/${name}/${ids.get(name)}`)).json, field, name);
  },
);
