import { type CommandTable, JSON_OPTION } from '../../cli/command.js';

/** The command about access rules. */
export const COMMANDS = {
  access: {
    summary: 'explains which access rules apply to a request, or tests them',
    forms: {
      explain: {
        text: 'says which grants hold for a request, and why others do not',
        operands: 'METHOD PATH',
        options: {
          as: { value: 'USER', required: true, text: 'the email or the id of the user, or another subject' },
          scopes: { value: 'SCOPES', text: 'the scopes of the caller; by default those of the user' },
          ...JSON_OPTION,
        },
      },
      test: {
        text: 'runs the cases in ./access.test.json, or in FILE (docs/access.md), on a new database that is dropped afterwards',
        operands: '[FILE]',
        options: JSON_OPTION,
      },
    },
    text: 'Uses the server of DATABASE_URL, or else the one of DATA_DIR, and changes none of its records.',
    examples: [
      'plinth access explain --as ann@example.org POST /issues',
      'plinth access explain --as reports --scopes issues:read GET /issues/019a7c5e-0000-7000-8000-000000000001',
      'plinth access test',
    ],
    exits: [1, 69, 78],
    failure: 'the request is not permitted, the collection has no rules, or a case has another outcome',
  },
} as const satisfies CommandTable;
