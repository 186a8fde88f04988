import { type CommandTable, JSON_OPTION } from '../command.js';

/** The commands of the core. */
export const SERVICE_COMMANDS = {
  serve: {
    summary: 'runs the service',
    aliases: ['start'],
    forms: {
      '': {
        options: {
          watch: { text: 'for development: apply each change of a declaration, without a restart' },
          json: { text: 'print the address and all log lines as JSON' },
        },
      },
    },
    text: 'Runs the service until SIGTERM or SIGINT. Its settings are environment variables, also from a file .env in the\ncurrent folder (docs/configuration.md). `plinth` alone does the same.',
    examples: ['PORT=8080 plinth serve', 'AUTH=bearer AUTH_SERVER=on plinth serve'],
    exits: [1, 69, 78],
    failure: 'the service cannot listen, or did not stop in order',
  },
  migrate: {
    summary: 'brings the tables in line with the declarations',
    forms: {
      '': {
        options: {
          plan: { text: 'print the SQL of each step, what it locks and what it loses, and change nothing' },
          violations: {
            text: 'list each stored record and each rule of its declaration that it violates, and change nothing',
          },
          'allow-drop': {
            text: 'also remove what is no longer declared: collections with their records, values of fields that a declaration forbids, and what only services with the former declarations use',
          },
          'allow-violations': { text: 'let stored records stay that violate a new rule' },
          ...JSON_OPTION,
        },
      },
    },
    text: 'Brings the tables in line with the declarations in COLLECTIONS. Clients are served meanwhile.',
    examples: ['plinth migrate --plan', 'plinth migrate --allow-drop'],
    exits: [1, 69, 78],
    failure: 'stored records violate a declaration, or a step failed',
  },
  collections: {
    summary: 'checks declarations of collections, or writes a new one',
    forms: {
      check: {
        text: 'checks the declarations in COLLECTIONS (./collections), and prints every fault',
        options: JSON_OPTION,
      },
      new: {
        text: 'writes ./collections/NAME.json',
        operands: 'NAME',
        options: {
          fields: {
            value: 'FIELD:TYPE[,FIELD:TYPE]...',
            required: true,
            text: 'the fields. TYPE is string, text, number, integer, boolean, date, date-time, strings or object, or the name of a collection to refer to, with / before it if it has the name of a type, and [] after it to several of its records; a ! at the end means required',
          },
          ...JSON_OPTION,
        },
      },
    },
    text: 'A declaration is a JSON Schema (docs/collections.md). No database is needed.',
    examples: [
      'plinth collections check',
      "plinth collections new books --fields 'title:string!,pages:integer'",
    ],
    exits: [1, 73, 78],
    failure: 'the file exists already',
  },
} as const satisfies CommandTable;
