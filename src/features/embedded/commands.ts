import { type CommandTable, JSON_OPTION } from '../../cli/command.js';

/** The commands that copy the embedded database. */
export const COMMANDS = {
  backup: {
    summary: 'copies the embedded database to a folder',
    forms: { '': { operands: 'FOLDER', options: JSON_OPTION } },
    text: 'Copies the database in DATA_DIR to a new folder, as it is at one moment, also while a service writes. The copy has all\nrecords, events, users and keys: store it as carefully.',
    examples: ['plinth backup /backups/monday', 'plinth backup /backups/monday --json'],
    exits: [1, 69, 78],
    failure: 'the database is not the embedded one',
  },
  restore: {
    summary: 'makes the embedded database from a backup',
    forms: { '': { operands: 'FOLDER', options: JSON_OPTION } },
    text: 'Makes the database in DATA_DIR, which has none, from a folder that `plinth backup` has\nwritten. The folder stays as it is.',
    examples: ['DATA_DIR=./restored plinth restore /backups/monday', 'plinth restore /backups/monday --json'],
    exits: [1, 69, 78],
    failure: 'the database is not the embedded one',
  },
} as const satisfies CommandTable;
