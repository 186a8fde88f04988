import { type CommandTable, JSON_OPTION } from '../../cli/command.js';

/** The commands that move records. */
export const COMMANDS = {
  import: {
    summary: 'loads records',
    forms: {
      '': {
        operands: '[COLLECTION] FILE ...',
        options: {
          infer: {
            text: 'declare the collections of FILE in COLLECTIONS (./collections), and create their tables',
          },
          rename: {
            value: 'FROM=TO',
            many: true,
            text: 'renames a top-level field of every record; may be repeated',
          },
          lookup: {
            value: 'FIELD=COLLECTION.FIELD',
            many: true,
            text: 'FIELD has the value of that field of the record to which it refers, not its id; may be repeated',
          },
          'keep-ids': {
            text: 'keep id, created_at, updated_at and _version of the records, as an export has them; the default for an export if its collections have no records',
          },
          'on-conflict': {
            value: 'ACTION',
            values: ['skip', 'replace', 'fail'],
            text: 'keep ids, and for a record that differs from the stored one with its id: leave that, replace it, or refuse the record (the default)',
          },
          'dry-run': { text: 'check everything, and store nothing' },
          strict: {
            text: 'stop at the first batch of about 256 KiB with a refused record, and store nothing of it; the batches before it stay',
          },
          resume: {
            text: 'continue an import of FILE that was interrupted: each record is stored once',
          },
          restart: {
            text: 'import FILE from its beginning, although an import of it was interrupted: what that has stored stays',
          },
          as: { value: 'COLLECTION', text: 'the same as COLLECTION' },
          ...JSON_OPTION,
        },
      },
    },
    text: 'FILE is .ndjson, .csv or .json, or - for the standard input. Without COLLECTION it is JSON,\n{"collection": [records], ...}. Several files are imported as\none; each has records of the collection that it is called after, or is given as\nCOLLECTION=FILE. Ids are new, except those of an export; references between the records\nof all files are preserved. A user\'s password\nmay be given as its hash: "password_hash", scrypt$N$r$p$salt$key or bcrypt\'s $2b$cost$...',
    examples: [
      'plinth import db.json --infer',
      'plinth import books books.ndjson --strict',
      'plinth import authors.csv books=list.ndjson',
      'plinth import products.json --as items --rename title=name --json',
      'plinth import tasks.csv --as tasks --lookup projectId=projects.name',
    ],
    exits: [1, 69, 78],
    failure: 'a record was refused, or the rest was not loaded',
  },
  export: {
    summary: 'writes records',
    forms: {
      '': {
        operands: '[COLLECTION]',
        options: {
          format: {
            value: 'FORMAT',
            values: ['ndjson', 'csv', 'json'],
            text: 'by default as the name of FILE says, or else ndjson',
          },
          output: { short: 'o', value: 'FILE', text: 'the file to write' },
          json: { text: 'print how much was written to FILE as a JSON document, and errors as JSON' },
        },
      },
    },
    text: 'Writes the records of one moment, also while a service runs. Without COLLECTION: all, as\n{"collection": [records], ...}. Passwords and other write-only fields are not exported.',
    examples: ['plinth export -o backup.json', 'plinth export items --format csv'],
    exits: [1, 69, 73, 78],
    failure: 'there is no such collection, or the records cannot be read',
  },
} as const satisfies CommandTable;
