import { parse } from '../../../src/cli/arguments.js';
import { type CommandTable, JSON_OPTION } from '../../../src/cli/command.js';
import { print } from '../../../src/cli/output.js';
import { withDatabase } from '../../../src/cli/with-database.js';
import { typesIn } from '../../../src/errors/catalogue.js';
import type { Feature } from '../../../src/feature.js';
import type { Stats } from './stats.js';

const COMMANDS = {
  stats: {
    summary: 'shows how many requests were counted',
    forms: { '': { options: JSON_OPTION } },
    text: 'Shows the number of requests to /stats.',
    examples: ['plinth stats', 'plinth stats --json'],
    exits: [69, 78],
  },
} as const satisfies CommandTable;

/** An endpoint, an error, a command, a setting, a table and a metric. */
export default {
  endpoints: async () => (await import('./stats.js')).ENDPOINTS,
  errors: async () => typesIn(await import('./errors.js')),
  documentation: { tags: { stats: 'Requests that were counted.' } },
  open: async ({ db }) => {
    const { Stats } = await import('./stats.js');
    const stats = new Stats(db);
    return { services: () => stats, metrics: stats.metrics };
  },
  startLines: async (_config, { url }) => [{ name: 'stats', text: `${url}/stats`, position: 9 }],
  commands: {
    stats: {
      ...COMMANDS.stats,
      group: 'tools',
      run: async (args, io) => {
        const { json } = parse(COMMANDS, 'stats', '', args).values;
        const { total } = await import('./stats.js');
        await withDatabase(io, async ({ db }) => {
          const requests = await total(db.run);
          print(io, json, { requests }, `${requests} requests\n`);
        });
      },
    },
  },
} satisfies Feature<Stats>;
