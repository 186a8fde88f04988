import { type Engine, statementsOn } from '../../db/engine.js';
import { readStatements } from '../../db/statements.js';

/** The statements of imports and exports. */
export const STATEMENTS = readStatements('features/transfer/import.sql');

/** The statements that read or write records of collections, which differ by engine. */
export const recordStatements = (engine: Engine): ReadonlyMap<string, string> =>
  statementsOn(engine, 'features/transfer/import.sql');
