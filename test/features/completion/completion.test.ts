import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { allCommands } from '../../../src/cli/commands.js';
import { plinth } from '../../support/command.js';
import t from '../../support/test.js';

const COMMANDS = await allCommands();

t.jobs = 3;

/** The proposals of bash for the last of these words. */
function proposals(script: string, folder: string, words: readonly string[]): string[] {
  const lines = `${script}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})
COMP_CWORD=${words.length - 1}
_plinth
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync('bash', ['--norc', '-c', lines], { cwd: folder, encoding: 'utf8' });
  return out.split('\n').filter((word) => word !== '');
}

t.test('bash completes commands, subcommands, options, values and files', async (t) => {
  const { code, out: script, err } = await plinth(t, ['completion', 'bash']);
  t.same([code, err], [0, '']);
  const folder = t.testdir({ 'books.ndjson': '', 'notes.txt': '' });
  const rows: [words: string[], expected: string[]][] = [
    [
      ['plinth', ''],
      [...COMMANDS.keys(), '--help', '--version'],
    ],
    [['plinth', 'exp'], ['export']],
    [
      ['plinth', 'keys', ''],
      ['create', 'list', 'revoke', '--help'],
    ],
    [
      ['plinth', 'keys', 'create', '--s'],
      ['--subject', '--scopes'],
    ],
    [['plinth', 'keys', 'create', '--label', ''], []],
    [
      ['plinth', 'export', '--format', ''],
      ['ndjson', 'csv', 'json'],
    ],
    [['plinth', 'export', '-o', 'b'], ['books.ndjson']],
    [
      ['plinth', 'import', 'books', ''],
      ['books.ndjson', 'notes.txt'],
    ],
    [['plinth', 'import', '--i'], ['--infer']],
    [
      ['plinth', 'completion', ''],
      ['bash', 'zsh', 'fish', '--help'],
    ],
    [
      ['plinth', 'doctor', '--'],
      ['--json', '--help'],
    ],
  ];
  for (const [words, expected] of rows) t.same(proposals(script, folder, words), expected, words.join(' '));
});

for (const [shell, check] of [
  ['zsh', ['-n']],
  ['fish', ['--no-execute']],
] as const)
  t.test(`the script for ${shell} has every command and option`, async (t) => {
    const { code, out } = await plinth(t, ['completion', shell]);
    t.equal(code, 0);
    for (const [name, { forms }] of COMMANDS) {
      t.match(out, new RegExp(`\\b${name}\\b`));
      for (const option of Object.values(forms).flatMap(({ options }) => Object.keys(options)))
        t.match(out, shell === 'fish' ? ` -l ${option} ` : `--${option}`);
    }
    const file = join(t.testdir(), `plinth.${shell}`);
    writeFileSync(file, out);
    try {
      execFileSync(shell, [...check, file], { stdio: 'pipe' });
    } catch (error) {
      if ((error as { code?: string }).code !== 'ENOENT') throw error;
      t.comment(`${shell} is not installed: its syntax was not checked`);
    }
  });

t.test('other shells are refused', async (t) => {
  for (const args of [['completion'], ['completion', 'tcsh'], ['completion', 'bash', 'zsh']])
    t.match(await plinth(t, args), {
      code: 64,
      out: '',
      err: /^plinth: completion needs bash, zsh or fish\n/,
    });
});
