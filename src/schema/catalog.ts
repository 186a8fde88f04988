import { CITUS, type Engine, POSTGRESQL } from '../database-url/engine.js';
import { catalogSql } from '../db/core-statements.js';
import type { Run } from '../db/db.js';
import { collectionsSchema } from '../db/open-database.js';
import type { Declaration } from '../declarations/declaration.js';
import { escapeToken, type JsonObject } from '../json.js';
import type { DocumentWork } from './step.js';

/** One index as the database has it. */
export interface ExistingIndex {
  /** False: its build was interrupted. */
  readonly isValid: boolean;
  readonly isUnique: boolean;
  /** The columns that its definition names, in alphabetical order. */
  readonly columns: readonly string[];
}

/** A name of interest that something else than a table has. */
export interface Occupied {
  readonly name: string;
  /** `index`, `view`, `sequence`, `type` and so on. */
  readonly kind: string;
}

/** One table as the database has it. */
export interface ExistingTable {
  /** The name of the table, if that is not the one of the collection. */
  readonly table?: string | undefined;
  /** Columns by name. The comment says whether the column is complete: FILLING, UNUSED, INSTANT, or null. */
  readonly columns: ReadonlyMap<string, { readonly type: string; readonly comment: string | null }>;
  /** Indexes by name. */
  readonly indexes: ReadonlyMap<string, ExistingIndex>;
  /** Foreign keys by name: false, older records are not checked yet. */
  readonly foreignKeys: ReadonlyMap<string, { readonly action: string; readonly isValid: boolean }>;
  readonly triggers: ReadonlySet<string>;
}

/** How a database stores collections. */
export interface Layout {
  readonly engine: Engine;
  /** The schema of their tables. */
  readonly schema: string;
}

/** The state of the database, as far as declarations decide it. */
export interface Catalog extends Layout {
  readonly tables: ReadonlyMap<string, ExistingTable>;
  /** Names of interest that collections cannot have as they are. */
  readonly occupied: readonly Occupied[];
  /** The applied declarations by collection, as JSON text. */
  readonly applied: ReadonlyMap<string, string>;
  /** The declarations that these have replaced, which services may have. */
  readonly former: ReadonlyMap<string, string>;
  /** By collection and field, the last event before the field was declared. */
  readonly fieldsSince: ReadonlyMap<string, ReadonlyMap<string, number>>;
  readonly pending: readonly PendingWork[];
  /** Collections whose columns are to be filled, since an SQL file may have changed their documents. */
  readonly due: ReadonlySet<string>;
  /** Collections of which a change in a window has begun, with the hash of the declaration to which it leads. */
  readonly windows: ReadonlyMap<string, string>;
  /** The SQL files that were run, with their checksums. */
  readonly sqlFiles: ReadonlyMap<string, string>;
  /** Views by former names of tables, with the collections: fences, and after a rename by version 0.1.0 views of all records. */
  readonly formerNames: ReadonlyMap<string, string>;
}

/** Work on documents that is to be repeated, or waits for consent. */
export interface PendingWork {
  readonly collection: string;
  readonly work: DocumentWork;
  /** The work as it is recorded. */
  readonly text: string;
  readonly state: 'repeat' | 'offer';
}

type PendingRow = Pick<PendingWork, 'collection'> & {
  readonly work: string;
  /** Earlier versions also have `check`. */
  readonly state: PendingWork['state'] | 'due' | 'window';
};

/** The comment on a column that is not complete yet. */
export const FILLING = 'plinth: being filled';
/** The comment on a column that no declaration has, and that services with a former one may write. */
export const UNUSED = 'plinth: unused';
/** The comment on a column whose texts are points in time in UTC. */
export const INSTANT = 'plinth: points in time';
/** The beginning of the comment on a fence; the collection follows. */
export const MOVED = 'plinth: moved to ';

interface Row extends Record<'applied' | 'former' | 'files' | 'views', Named<string>> {
  readonly fieldsSince: Named<Readonly<Record<string, number>>>;
  readonly tables: readonly {
    readonly name: string;
    readonly table: string;
    readonly columns: Named<{ type: string; comment: string | null }>;
    readonly indexes: Named<ExistingIndex>;
    readonly foreignKeys: Named<{ action: string; isValid: boolean }>;
    readonly triggers: readonly string[] | null;
  }[];
  readonly occupied: readonly Occupied[];
  readonly pending: readonly PendingRow[];
}

/** An object by names; null: there is none. */
type Named<Value> = Readonly<Record<string, Value>> | null;
const byName = <Value>(named: Named<Value>): ReadonlyMap<string, Value> =>
  new Map(Object.entries(named ?? {}));

/** The former names of a table. */
export const formerNamesOf = (table: string, formerNames: Catalog['formerNames']): string[] =>
  [...formerNames].filter(([, present]) => present === table).map(([name]) => name);

/** Reads the state in one statement. `names` are the tables of interest. */
export async function readCatalog(
  run: Run,
  names: readonly string[],
  { engine, schema }: Layout,
): Promise<Catalog> {
  const [row] = await run(catalogSql(engine), [JSON.stringify(names), schema]);
  const { tables, occupied, pending, ...named } = JSON.parse(row!.state as string) as Row;
  const inState = (state: PendingRow['state']) =>
    pending.filter((each) => each.state === state).map(({ collection, work }) => [collection, work] as const);
  return {
    engine,
    schema,
    occupied,
    tables: new Map(tables.map((table) => [table.name, existingTable(table)])),
    applied: byName(named.applied),
    former: byName(named.former),
    fieldsSince: new Map([...byName(named.fieldsSince)].map(([name, since]) => [name, byName(since)])),
    pending: pending.flatMap(({ collection, work: text, state }) =>
      state === 'repeat' || state === 'offer' ? [{ collection, state, text, work: workOf(text) }] : [],
    ),
    due: new Set(new Map(inState('due')).keys()),
    windows: new Map(inState('window')),
    sqlFiles: byName(named.files),
    formerNames: byName(named.views),
  };
}

const existingTable = ({
  table,
  columns,
  indexes,
  foreignKeys,
  triggers,
}: Row['tables'][number]): ExistingTable => ({
  table,
  columns: byName(columns),
  indexes: byName(indexes),
  foreignKeys: byName(foreignKeys),
  triggers: new Set(triggers ?? []),
});

/** Work as the database has recorded it. Version 0.1.0 records defaults of fields by their names. */
function workOf(text: string): DocumentWork {
  const work = JSON.parse(text) as Omit<DocumentWork, 'kind'> & { readonly kind: string; values: JsonObject };
  if (work.kind !== 'default') return work as unknown as DocumentWork;
  const pointers = Object.entries(work.values).map(([name, value]) => [`/${escapeToken(name)}`, value]);
  return { ...work, kind: 'default-within', values: Object.fromEntries(pointers) };
}

/** By collection, the name that it had before. */
const formerNames = (declarations: readonly Declaration[]): ReadonlyMap<string, string | undefined> =>
  new Map(declarations.map(({ name, schema }) => [name, schema['x-collection']?.was]));

/** The tables that declarations name, and those that they named before. */
export const namesOf = (declarations: readonly Declaration[]): string[] =>
  [...formerNames(declarations)].flat().filter((name) => name !== undefined);

/** Where the collections of declarations are at present, also those that are to be renamed. */
export function storedPlaces({ schema, tables, fieldsSince }: Catalog, declarations: readonly Declaration[]) {
  const former = formerNames(declarations);
  const nameOf = (collection: string) =>
    [collection, former.get(collection) ?? ''].find((each) => tables.has(each)) ?? '';
  const tableOf = (collection: string) =>
    tables.get(nameOf(collection))?.table ?? (nameOf(collection) || undefined);
  const typeOf = (collection: string, column: string) =>
    tables.get(nameOf(collection))?.columns.get(column)?.type;
  return { schema, fieldsSince, tableOf, typeOf };
}

/** The layout of a migrated database. */
export async function layoutOf(run: Run): Promise<Layout> {
  const [row] = await run("select to_regclass('distributed_collections') is not null as distributed", []);
  return {
    engine: row?.distributed === true ? CITUS : POSTGRESQL,
    schema: await collectionsSchema(run),
  };
}
