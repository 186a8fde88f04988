import { declare } from '../support/collections.js';
import { plinth } from '../support/command.js';
import { startProcess } from '../support/process.js';
import { send, undeclaredDatabase } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { notInDefault } from '../support/thorough.js';
import { recordsIn } from '../support/words.js';

type Schema = Readonly<Record<string, unknown>>;

const record = (properties: object, more: object = {}): Schema => ({
  title: 'Record',
  type: 'object',
  properties,
  ...more,
});
const text = (more: object = {}) => ({ type: 'string', ...more });
const within = (more: object) => record({ o: { type: 'object', properties: { n: text() }, ...more } });
/** Declarations of one field before and after. */
const field = (before: object, after: object, more: object = {}) =>
  [record({ f: before }), record({ f: after }, more)] as const;
const list = (items: object) => ({ type: 'array', items });
const INDEXED = text({ 'x-index': true });
const LINK = text({ 'x-references': 'authors', 'x-on-delete': 'remove' });
const NO_ID = '01a22355-478c-70f2-9849-d0a98f931976';

/** Each kind of stricter rule: before, after, what a service with the former declaration writes, and how it violates the other. */
const RULES: Readonly<
  Record<string, readonly [before: Schema, after: Schema, body: object, failure?: RegExp]>
> = {
  required: [...field(text(), text(), { required: ['f'] }), {}, /f/],
  pattern: [...field(text(), text({ pattern: '^a' })), { f: 'b' }, /\/f /],
  enumeration: [...field(text(), text({ enum: ['a'] })), { f: 'b' }, /\/f /],
  constant: [...field(text(), { const: 'a' }), { f: 'b' }, /\/f /],
  max_length: [...field(text(), text({ maxLength: 1 })), { f: 'bb' }, /\/f /],
  maximum: [...field({ type: 'number' }, { type: 'number', maximum: 1 }), { f: 2 }, /\/f /],
  multiple: [...field({ type: 'number' }, { type: 'integer' }), { f: 1.5 }, /\/f /],
  format: [...field(text(), text({ format: 'date' })), { f: 'b' }, /\/f /],
  unique: [...field(text(), text({ 'x-unique': true })), { f: 'a' }, /\/f must be unique/],
  key: [
    record({ f: text(), g: text() }),
    record({ f: INDEXED, g: INDEXED }, { 'x-collection': { unique: [['f', 'g']] } }),
    { f: 'a', g: 'a' },
    /\/f must be unique together/,
  ],
  reference: [...field(text(), text({ 'x-references': 'authors' })), { f: NO_ID }, /is the id of no record/],
  references: [
    ...field(list(text()), { ...list(LINK), maxItems: 9 }),
    { f: [NO_ID] },
    /is the id of no record/,
  ],
  index: [...field(text(), INDEXED), { f: 'b'.repeat(9000) }, /bytes/],
  elements: [...field(list(text()), list(text({ maxLength: 1 }))), { f: ['bb'] }, /\/f\/0 /],
  nested: [within({}), within({ properties: { n: text({ maxLength: 1 }) } }), { o: { n: 'bb' } }, /\/o\/n /],
  nested_required: [within({}), within({ required: ['n'] }), { o: {} }, /\/o/],
  closed: [...field(text(), text(), { additionalProperties: false }), { g: 'b' }, /g/],
  combined: [...field(text(), text(), { anyOf: [{ required: ['f'] }] }), {}, /f/],
  // The steps that change stored records change these, too.
  defaulted: [...field(text(), text({ default: 'a' }), { required: ['f'] }), {}],
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
    const env = { DATABASE_URL, COLLECTIONS: before, MIGRATE: 'auto', LOG_LEVEL: 'error' };
    const former = startProcess(t, env);
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
    const found = new Map(recordsIn(listed.out).map((each) => [String(each.collection), each]));
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
