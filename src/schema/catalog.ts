import { CITUS, type Engine, POSTGRESQL } from '../database-url/engine.js';
import { catalogSql } from '../db/core-statements.js';
import type { Run } from '../db/db.js';
import { collectionsSchema } from '../db/open-database.js';
import type { Declaration } from '../declarations/declaration.js';
import type { StoredType } from '../declarations/declared-column.js';
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
  /** The table of an index. */
  readonly table: string | null;
}

/** One table as the database has it. */
export interface ExistingTable {
  /** The name of the table, if that is not the one of the collection. */
  readonly table?: string | undefined;
  /** Names of columns with their types, and whether a value is required. */
  readonly columns: ReadonlyMap<
    string,
    {
      readonly type: string;
      readonly isRequired: boolean;
      readonly isFilling: boolean;
      /** No declaration has it; services with a former one may write it. */
      readonly isUnused: boolean;
      /** The column was filled with points in time in UTC. */
      readonly isInstant: boolean;
    }
  >;
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
  readonly pending: readonly PendingWork[];
  /** Collections whose columns are to be filled, since an SQL file may have changed their documents. */
  readonly due: ReadonlySet<string>;
  /** Collections of which services with a former declaration may have written records that violate the present one. */
  readonly doubted: ReadonlySet<string>;
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
  readonly state: 'repeat' | 'offer';
}

type PendingRow = Omit<PendingWork, 'work' | 'state'> & {
  readonly work: string;
  readonly state: PendingWork['state'] | 'due' | 'check' | 'window';
};

/** The comment on a column that is not complete yet. */
export const FILLING = 'plinth: being filled';
/** The comment on a column that only services with a former declaration use. */
export const UNUSED = 'plinth: unused';
/** The comment on a column whose texts are points in time in UTC. */
export const INSTANT = 'plinth: points in time';
/** The beginning of the comment on a fence; the collection follows. */
export const MOVED = 'plinth: moved to ';

interface Row {
  readonly tables: readonly {
    readonly name: string;
    readonly table?: string;
    readonly columns:
      | readonly { name: string; type: string; required: boolean; comment: string | null }[]
      | null;
    readonly indexes:
      | readonly { name: string; valid: boolean; unique: boolean; columns: readonly string[] }[]
      | null;
    readonly keys: readonly { name: string; action: string; valid: boolean }[] | null;
    readonly triggers: readonly string[] | null;
  }[];
  readonly occupied: readonly Occupied[];
  readonly applied: readonly {
    readonly name: string;
    readonly declaration: string;
    readonly former: string;
  }[];
  readonly pending: readonly PendingRow[];
  readonly files: readonly { readonly name: string; readonly checksum: string }[];
  readonly views: readonly { readonly name: string; readonly comment: string }[];
}

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
  const { tables, occupied, applied, pending, files, views } = JSON.parse(row!.state as string) as Row;
  const inState = (state: PendingRow['state']) =>
    new Set(pending.filter((each) => each.state === state).map(({ collection }) => collection));
  return {
    engine,
    schema,
    occupied,
    tables: new Map(
      tables.map((table) => [
        table.name,
        {
          table: table.table,
          columns: new Map(
            (table.columns ?? []).map(({ name, type, required, comment }) => [
              name,
              {
                type,
                isRequired: required,
                isFilling: comment === FILLING,
                isUnused: comment === UNUSED,
                isInstant: comment === INSTANT,
              },
            ]),
          ),
          indexes: new Map(
            (table.indexes ?? []).map(({ name, valid, unique, columns }) => [
              name,
              { isValid: valid, isUnique: unique, columns },
            ]),
          ),
          foreignKeys: new Map(
            (table.keys ?? []).map(({ name, action, valid }) => [name, { action, isValid: valid }]),
          ),
          triggers: new Set(table.triggers ?? []),
        },
      ]),
    ),
    applied: new Map(applied.map(({ name, declaration }) => [name, declaration])),
    former: new Map(applied.map(({ name, former }) => [name, former])),
    pending: pending.flatMap(({ collection, work, state }) =>
      state === 'repeat' || state === 'offer'
        ? [{ collection, state, work: JSON.parse(work) as DocumentWork }]
        : [],
    ),
    due: inState('due'),
    doubted: inState('check'),
    windows: new Map(
      pending.filter(({ state }) => state === 'window').map(({ collection, work }) => [collection, work]),
    ),
    sqlFiles: new Map(files.map(({ name, checksum }) => [name, checksum])),
    formerNames: new Map(views.map(({ name, comment }) => [name, comment.split(' ').at(-1)!])),
  };
}

/** By collection, the name that it had before. */
export const formerNames = (declarations: readonly Declaration[]): ReadonlyMap<string, string | undefined> =>
  new Map(declarations.map(({ name, schema }) => [name, schema['x-collection']?.was]));

/** Where resources of declarations have their columns, also those of collections that are to be renamed. */
export function storedTypes({ tables }: Catalog, declarations: readonly Declaration[]): StoredType {
  const former = formerNames(declarations);
  const tableOf = (name: string) => tables.get(name) ?? tables.get(former.get(name) ?? '');
  return (collection, column) => tableOf(collection)?.columns.get(column)?.type;
}

/** The present name of the table of a collection, also of one that is to be renamed. */
export function storedTable({ tables }: Catalog, declarations: readonly Declaration[]) {
  const former = formerNames(declarations);
  return (collection: string): string | undefined => {
    const name = [collection, former.get(collection) ?? ''].find((each) => tables.has(each));
    return name === undefined ? undefined : (tables.get(name)!.table ?? name);
  };
}

/** The layout of a migrated database. */
export async function layoutOf(run: Run): Promise<Layout> {
  const [row] = await run("select to_regclass('distributed_collections') is not null as distributed", []);
  return {
    engine: row?.distributed === true ? CITUS : POSTGRESQL,
    schema: await collectionsSchema(run),
  };
}
