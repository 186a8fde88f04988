/**
 * The server behind DATABASE_URL: one PostgreSQL, or a Citus cluster, which distributes the records of collections over its
 * nodes. Its members say what differs, and nothing else compares names.
 */
export interface Engine {
  /** The value of DATABASE_ENGINE. */
  readonly name: 'postgresql' | 'citus';
  /** The folder of sql/ with the statements that replace others; empty: none does. */
  readonly folder: '' | 'features/citus/';
  /** The tables of collections are on several nodes: they have no triggers and no windows, and migrations of their own. */
  readonly isDistributed: boolean;
  /** Statements are planned once, for all arguments, or each time, since the arguments decide which nodes they need. */
  readonly planCacheMode: 'force_generic_plan' | 'auto';
  /**
   * A subquery may compare with the rows around it, tables are joined by any column, and statements read settings of the session.
   * Otherwise conditions are sets of ids, and values are parameters of one caller.
   */
  readonly correlates: boolean;
  /** Events have an actor. */
  readonly hasActors: boolean;
  /** One statement checks and writes several records. */
  readonly writesMany: boolean;
  /** COPY writes into the tables of collections. */
  readonly copiesRecords: boolean;
}

export const POSTGRESQL: Engine = {
  name: 'postgresql',
  folder: '',
  isDistributed: false,
  planCacheMode: 'force_generic_plan',
  correlates: true,
  hasActors: true,
  writesMany: true,
  copiesRecords: true,
};

export const CITUS: Engine = {
  name: 'citus',
  folder: 'features/citus/',
  isDistributed: true,
  planCacheMode: 'auto',
  correlates: false,
  hasActors: false,
  writesMany: false,
  copiesRecords: false,
};

/** The engines by the values of DATABASE_ENGINE. */
export const ENGINES: Readonly<Record<Engine['name'], Engine>> = { postgresql: POSTGRESQL, citus: CITUS };
