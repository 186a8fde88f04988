import type { CommandTable } from '../../cli/command.js';

/** The command that prints scripts for shells. */
export const COMMANDS = {
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
} as const satisfies CommandTable;
