import { type CommandTable, formsOf } from '../../cli/command.js';
import { KEY } from './key-kind.js';

/** The command about keys. */
export const COMMANDS = {
  keys: {
    summary: 'manages API keys and client certificates',
    forms: formsOf(KEY),
    text: 'Manages API keys and client certificates in DATABASE_URL, or else in the database of DATA_DIR, also while a service\nruns on it. Only the SHA-256 of a key is stored.',
    examples: [
      'plinth keys create --label ci --subject reports --scopes items:read,users:read --expires 90d',
      'plinth keys list --json',
    ],
    exits: [1, 69, 78],
    failure: 'there is no such key',
  },
} as const satisfies CommandTable;
