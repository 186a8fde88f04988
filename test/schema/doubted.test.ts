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
  'records that a service with the former declarations writes after the migration are compared',
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
    const plan = async (...args: string[]) => {
      const { code, out } = await plinth(t, ['migrate', '--plan', '--json', ...args], present);
      const { violations } = JSON.parse(out) as {
        violations: { collection: string; violating: number; examples: string[] }[];
      };
      return {
        code,
        found: new Map(
          violations.filter(({ violating }) => violating > 0).map((each) => [each.collection, each]),
        ),
      };
    };
    for (const { code, found } of [await plan(), await plan('--allow-drop')]) {
      t.equal(code, 1, '--plan');
      t.same([...found.keys()].sort(), [...VIOLATED].sort());
      for (const name of VIOLATED) {
        t.equal(found.get(name)?.violating, 1, name);
        t.match(found.get(name)?.examples[0], RULES[name]![3]!, name);
        t.ok(found.get(name)?.examples[0]?.startsWith(ids.get(name)!), name);
      }
    }
    for (const [args, expected] of [
      [[], 0],
      [['--allow-drop'], 1],
    ] as const) {
      const { code, out, err } = await plinth(t, ['migrate', ...args], present);
      t.equal(code, expected, 'former services are to be replaced before the drops');
      t.notMatch(out, 'matches the declarations');
      for (const name of VIOLATED) t.match(err, `1 of ${name in FIRST ? 2 : 1} records of ${name} violate`);
    }
    t.match(await plinth(t, ['doctor'], present), {
      out: /1 of 1 records of pattern violate the declaration/,
    });
    const warned = startProcess(t, { ...present, MIGRATE: 'check', LOG_LEVEL: 'warn' });
    await warned.ready();
    t.match(warned.stdout() + warned.stderr(), `${ids.get('pattern')}: /f must match the pattern`);

    for (const name of VIOLATED) {
      const { status, text } = await send(base, 'DELETE', `/${name}/${ids.get(name)}`);
      t.equal(status, 204, `${name}: ${text}`);
    }
    former.child.kill('SIGTERM');
    t.equal(await former.ended, 0);
    t.match(await plinth(t, ['migrate', '--allow-drop'], present), { code: 0, err: '' });
    const { code, out, err } = await plinth(t, ['migrate', '--plan'], present);
    t.same([code, out, err], [0, '-- The database matches the declarations.\n', '']);
    const url = await warned.ready();
    for (const [name, field] of [
      ['defaulted', { f: 'a' }],
      ['nested_default', { o: { n: 'a' } }],
    ] as const)
      t.match((await send(url, 'GET', `/${name}/${ids.get(name)}`)).json, field, name);
  },
);

t.test('records that violate a rule stay if the operator says so, and are compared no more', async (t) => {
  const DATABASE_URL = await undeclaredDatabase(t);
  const files = (maxLength: number) => declare(t, { 'books.json': record({ f: text({ maxLength }) }) });
  const former = startProcess(t, {
    DATABASE_URL,
    COLLECTIONS: files(9),
    MIGRATE: 'auto',
    LOG_LEVEL: 'error',
  });
  const base = await former.ready();
  const present = { DATABASE_URL, COLLECTIONS: files(1) };
  t.match(await plinth(t, ['migrate'], present), { code: 0 });
  t.equal((await send(base, 'POST', '/books', { body: { f: 'bb' } })).status, 201);
  t.match(await plinth(t, ['migrate'], present), {
    code: 0,
    err: /^warning: 1 of 1 records of books violate/,
  });
  t.match(await plinth(t, ['migrate', '--allow-violations'], present), { code: 0, err: '' });
  t.match(await plinth(t, ['migrate'], present), {
    code: 0,
    out: 'The database matches the declarations.\n',
  });
  t.match(
    await plinth(t, ['migrate', '--violations'], present),
    { code: 1 },
    'which --violations still lists',
  );
});
