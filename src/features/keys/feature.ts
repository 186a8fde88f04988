import { type Feature, kindCommand } from '../../feature.js';
import { COMMANDS } from './commands.js';
import { KEY } from './key-kind.js';
import type { KeyServices } from './stored-keys.js';

/** API keys and client certificates, for operators. */
export default {
  endpoints: async () => (await import('./stored-keys.js')).KEYS,
  open: ({ db, auth: { lookup }, scopes }) => ({ services: () => ({ db, lookup, scopes }) }),
  commands: {
    keys: kindCommand(KEY, COMMANDS.keys, async () => (await import('./stored-keys.js')).STORED_KEYS),
  },
} satisfies Feature<KeyServices>;
