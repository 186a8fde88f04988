import { type CommandTable, JSON_OPTION } from '../../cli/command.js';

/** The command that writes a document about the API. */
export const COMMANDS = {
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
          output: { short: 'o', value: 'FILE', text: 'the file to write' },
          ...JSON_OPTION,
        },
      },
    },
    text: 'Writes what GET /openapi.json of a service with these settings and declarations responds to an administrator. No\nservice and no database are needed. With --json and -o it prints the name and the size of the file.',
    examples: ['plinth openapi -o openapi.json', 'AUTH=bearer AUTH_SERVER=on plinth openapi --yaml'],
    exits: [73, 78],
  },
} as const satisfies CommandTable;
