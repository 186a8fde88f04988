import { type CommandTable, JSON_OPTION } from '../../cli/command.js';

/** The command that checks a service and what it needs. */
export const COMMANDS = {
  doctor: {
    summary: 'checks the settings and what they need, and suggests fixes',
    forms: { '': { options: JSON_OPTION } },
    text: 'Checks the settings, declarations, database, permissions, plan, clocks, disk, open files, proxies, port and TLS files.\nIt changes nothing. An embedded database that does not run is started for the time of the check.',
    examples: ['plinth doctor', 'plinth doctor --json | jq \'.[] | select(.status == "problem")\''],
    exits: [1],
    failure: 'there is a problem',
  },
} as const satisfies CommandTable;
