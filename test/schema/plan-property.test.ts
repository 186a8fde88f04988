import { readDeclarations } from '../../src/declarations/read-declarations.js';
import { migrateCollections, planCollections } from '../../src/schema/migrate-collections.js';
import { declare } from '../support/collections.js';
import { declared } from '../support/declared.js';
import { integersOf } from '../support/runner/random.js';
import { undeclaredDatabase } from '../support/service.js';
import t from '../support/test.js';
import { times } from '../support/thorough.js';

/** Names that a declaration has or has not, under any former name. */
const FIELDS = ['title', 'default', 'a', 'b', 'c'];
const COLLECTIONS = ['books', 'authors', 'pens'];

interface State {
  readonly collections: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly was: Readonly<Record<string, string>>;
}

function fieldOf(pick: (limit: number) => number, names: readonly string[]): object {
  const kinds: (() => object)[] = [
    () => ({ type: 'string' }),
    () => ({ type: 'string', maxLength: 50, 'x-index': true }),
    () => ({ type: 'string', maxLength: 50, 'x-unique': true }),
    () => ({ type: 'string', maxLength: 50, 'x-index': true, 'x-search': true }),
    () => ({ type: 'string', maxLength: 50, 'x-search': 'words' }),
    () => ({ type: 'number', 'x-index': true }),
    () => ({ type: 'array', items: { type: 'string' }, 'x-index': true }),
    () => ({ type: 'string', writeOnly: true }),
    () => ({
      type: 'string',
      'x-references': names[pick(names.length)],
      'x-on-delete': ['cascade', 'restrict', 'null'][pick(3)],
    }),
  ];
  return kinds[pick(kinds.length)]!();
}

/** Other declarations than before: some collections and fields have other names, types or keywords. */
function next(pick: (limit: number) => number, { collections }: State): State {
  const was: Record<string, string> = {};
  const names = Object.keys(collections).map((name) => {
    const free = [...COLLECTIONS, ...COLLECTIONS.map((each) => `${each}2`)].filter(
      (each) => !(each in collections) && !(each in was),
    );
    if (pick(3) > 0) return name;
    const renamed = free[pick(free.length)]!;
    was[renamed] = name;
    return renamed;
  });
  const next = names.map((name, index) => {
    const fields = Object.values(collections)[index]!;
    const entries = FIELDS.flatMap((field): [string, object][] => {
      const present = fields[field];
      if (pick(4) > 0) return present ? [[field, present]] : [];
      return pick(3) === 0 ? [] : [[field, fieldOf(pick, names)]];
    });
    return [name, Object.fromEntries(entries)] as const;
  });
  // A reference to a collection that has another name now.
  const present = (field: object) => {
    const to = (field as { 'x-references'?: string })['x-references'];
    if (to === undefined || names.includes(to)) return field;
    return { ...field, 'x-references': Object.keys(was).find((name) => was[name] === to)! };
  };
  return {
    was,
    collections: Object.fromEntries(
      next.map(([name, fields]) => [
        name,
        Object.fromEntries(Object.entries(fields).map(([field, schema]) => [field, present(schema)])),
      ]),
    ),
  };
}

for (let seed = 1; seed <= times(3, 10, 100); seed++)
  t.test(`what is planned is what runs, and then nothing is left to do: seed ${seed}`, async (t) => {
    const pick = integersOf(seed);
    const url = await undeclaredDatabase(t);
    let state: State = { was: {}, collections: Object.fromEntries(COLLECTIONS.map((name) => [name, {}])) };
    for (let round = 0; round < 6; round++) {
      state = next(pick, state);
      const files = Object.entries(state.collections).map(([name, properties]) => [
        `${name}.json`,
        declared(properties, state.was[name] === undefined ? {} : { was: state.was[name] }),
      ]);
      const declarations = readDeclarations(declare(t, Object.fromEntries(files)));
      const says = `round ${round}: ${JSON.stringify(files)}`;
      const allowDrop = pick(2) === 0;
      const planned = await planCollections(url, declarations, allowDrop);
      const executed: string[] = [];
      const onStep = ({ title }: { title: string }) => void executed.push(title);
      await migrateCollections(url, declarations, { allowDrop, onStep });
      const expected = [...planned.steps, ...(allowDrop ? planned.drops : [])];
      t.strictSame(executed.join(), expected.map(({ title }) => title).join(), says);
      t.strictSame((await planCollections(url, declarations)).steps, [], says);
    }
  });
