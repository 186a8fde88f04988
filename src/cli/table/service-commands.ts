import { type Command, JSON_OPTION } from '../command.js';

/** Commands about the service and its tables. */
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
          violations: { text: 'list every stored record that violates its declaration, and change nothing' },
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
        text: 'writes ./collections/NAME.json. Without --fields it asks for the fields',
        operands: 'NAME',
        options: {
          fields: {
            value: 'FIELD:TYPE[,FIELD:TYPE]...',
            text: 'the fields. TYPE is string, text, number, integer, boolean, date, date-time, strings or object, or the name of a collection to refer to; a ! after it means required',
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
  backup: {
    summary: 'copies the embedded database to a folder',
    forms: { '': { operands: 'FOLDER', completes: 'file', options: JSON_OPTION } },
    text: 'Copies the database in DATA_DIR to a new folder, as it is at one moment, also while a service writes. The copy has all\nrecords, events, users and keys: store it as carefully.',
    examples: ['plinth backup /backups/monday', 'plinth backup /backups/monday --json'],
    exits: [1, 69, 78],
    failure: 'the database is not the embedded one',
  },
  restore: {
    summary: 'makes the embedded database from a backup',
    forms: { '': { operands: 'FOLDER', completes: 'file', options: JSON_OPTION } },
    text: 'Makes the database in DATA_DIR, which has none, from a folder that `plinth backup` has\nwritten. The folder stays as it is.',
    examples: ['DATA_DIR=./restored plinth restore /backups/monday', 'plinth restore /backups/monday --json'],
    exits: [1, 69, 78],
    failure: 'the database is not the embedded one',
  },
  openapi: {
    summary: 'writes the OpenAPI document',
    forms: {
      '': {
        options: {
          yaml: { text: 'YAML instead of JSON' },
          version: {
            value: 'VERSION',
            text: 'the version of the API (1 or 2)',
            values: ['1', '2'],
            default: '1',
          },
          output: { short: 'o', value: 'FILE', isFile: true, text: 'the file to write' },
          ...JSON_OPTION,
        },
      },
    },
    text: 'Writes what GET /openapi.json of a service with these settings and declarations responds to an administrator. No\nservice and no database are needed. With --json and -o it prints the name and the size of the file.',
    examples: ['plinth openapi -o openapi.json', 'AUTH=bearer AUTH_SERVER=on plinth openapi --yaml'],
    exits: [73, 78],
  },
  doctor: {
    summary: 'checks the settings and what they need, and suggests fixes',
    forms: { '': { options: JSON_OPTION } },
    text: 'Checks the settings, declarations, database, permissions, plan, clocks, disk, open files, proxies, port and TLS files.\nIt changes nothing. An embedded database that does not run is started for the time of the check.',
    examples: ['plinth doctor', 'plinth doctor --json | jq \'.[] | select(.status == "problem")\''],
    exits: [1],
    failure: 'there is a problem',
  },
  completion: {
    summary: 'prints a script that completes commands in a shell',
    forms: {
      '': { operands: 'bash|zsh|fish', completes: ['bash', 'zsh', 'fish'], options: {} },
    },
    text: 'Prints a script for the shell.',
    examples: [
      'source <(plinth completion bash)',
      'plinth completion zsh > ~/.zfunc/_plinth',
      'plinth completion fish > ~/.config/fish/completions/plinth.fish',
    ],
    exits: [],
  },
} as const satisfies Readonly<Record<string, Command>>;
