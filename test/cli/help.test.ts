import { allCommands } from '../../src/cli/commands.js';
import { EXITS } from '../../src/errors/exit-error.js';
import { plinth } from '../support/command.js';
import t from '../support/test.js';

const COMMANDS = await allCommands();

t.jobs = 3;

t.test('plinth --help lists the commands and the exit codes', async (t) => {
  const { code, out, err } = await plinth(t, ['--help']);
  t.same([code, err], [0, '']);
  for (const [name, { summary }] of COMMANDS) t.match(out, new RegExp(`^ {2}${name} +${summary}$`, 'm'));
  for (const [code, { meaning }] of Object.entries(EXITS))
    t.match(out, new RegExp(`^ {2}${code} +${meaning}$`, 'm'));
  t.same(await plinth(t, ['help']), { code, out, err });
});

t.test('each command has a synopsis, its options, examples and its exit codes', async (t) => {
  for (const [name, { forms, examples, exits }] of COMMANDS) {
    const { code, out, err } = await plinth(t, [name, '--help']);
    t.same([code, err], [0, ''], name);
    t.match(out, new RegExp(`^usage: plinth ${name}\\b`));
    for (const [verb, { options }] of Object.entries(forms)) {
      t.match(out, new RegExp(`^(usage: | {7})plinth ${`${name} ${verb}`.trim()}`, 'm'));
      for (const option of Object.keys(options)) t.match(out, `--${option}`);
    }
    t.ok(examples.length >= 2, `${name} has two examples`);
    for (const example of examples) t.match(out, `  ${example}\n`);
    for (const exit of [0, 64, 70, ...exits]) t.match(out, new RegExp(`^ {2}${exit} +\\S`, 'm'));
    t.notMatch(out, /[^\n]{121}/, 'no line is longer than a terminal');
  }
});

t.test('start is another name of serve', async (t) => {
  t.same(await plinth(t, ['start', '--help']), await plinth(t, ['serve', '--help']));
});

t.test('an error says how the command is used, and with --json it is a document', async (t) => {
  t.match(await plinth(t, ['export', '--format', 'xml']), {
    code: 64,
    out: '',
    err: /^plinth: --format must be ndjson, csv or json, not xml\nusage: plinth export .*\nplinth export --help says more\.\n$/,
  });
  t.match(await plinth(t, ['migrate', 'now', '--json']), {
    code: 64,
    out: '',
    err: '{"error":{"code":"USAGE","message":"migrate has no arguments"}}\n',
  });
});
