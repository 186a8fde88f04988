import type { Run } from '../db/db.js';
import { type Engine, statementsOn } from '../db/engine.js';

/** What the database has of one table. */
export interface ExistingTable {
  /** Names of columns with their types, and whether a value is required. */
  readonly columns: ReadonlyMap<
    string,
    { readonly type: string; readonly isRequired: boolean; readonly isFilling: boolean }
  >;
  /** Indexes by name; false: its build was interrupted. */
  readonly indexes: ReadonlyMap<string, boolean>;
  /** Foreign keys by name: false, older records are not checked yet. */
  readonly foreignKeys: ReadonlyMap<string, { readonly action: string; readonly isValid: boolean }>;
  readonly triggers: ReadonlySet<string>;
}

/** The state of the database, as far as declarations decide it. */
export interface Catalog {
  readonly tables: ReadonlyMap<string, ExistingTable>;
  /** The applied declarations by collection, as JSON text. */
  readonly applied: ReadonlyMap<string, string>;
  readonly engine: Engine;
}

/** The comment on a column that is not complete yet. */
export const FILLING = 'plinth: being filled';

interface Row {
  readonly tables: readonly {
    readonly name: string;
    readonly columns:
      | readonly { name: string; type: string; required: boolean; comment: string | null }[]
      | null;
    readonly indexes: readonly { name: string; valid: boolean }[] | null;
    readonly keys: readonly { name: string; action: string; valid: boolean }[] | null;
    readonly triggers: readonly string[] | null;
  }[];
  readonly applied: readonly { readonly name: string; readonly declaration: string }[];
}

/** Reads the state in one statement. `names` are the tables of interest. */
export async function readCatalog(run: Run, names: readonly string[], engine: Engine): Promise<Catalog> {
  const [row] = await run(statementsOn(engine, 'collections.sql').get('catalog')!, [JSON.stringify(names)]);
  const { tables, applied } = JSON.parse(row!.state as string) as Row;
  return {
    engine,
    tables: new Map(
      tables.map((table) => [
        table.name,
        {
          columns: new Map(
            (table.columns ?? []).map(({ name, type, required, comment }) => [
              name,
              { type, isRequired: required, isFilling: comment === FILLING },
            ]),
          ),
          indexes: new Map((table.indexes ?? []).map(({ name, valid }) => [name, valid])),
          foreignKeys: new Map(
            (table.keys ?? []).map(({ name, action, valid }) => [name, { action, isValid: valid }]),
          ),
          triggers: new Set(table.triggers ?? []),
        },
      ]),
    ),
    applied: new Map(applied.map(({ name, declaration }) => [name, declaration])),
  };
}

/** The engine of a database with the schema. */
export async function engineOf(run: Run): Promise<Engine> {
  const [row] = await run("select to_regclass('distributed_collections') is not null as distributed", []);
  return row?.distributed === true ? 'citus' : 'postgresql';
}
