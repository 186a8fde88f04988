import { readStatements } from '../db/statements.js';

/** The statements of imports and exports. */
export const STATEMENTS = readStatements('import.sql');
