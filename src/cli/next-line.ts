import type { Interface } from 'node:readline/promises';
import { ExitError } from '../exit-error.js';

/** The next line of an input after a prompt. Rejects when the input fails or ends before, which `question` alone ignores. */
export async function nextLine(lines: Interface, prompt: string): Promise<string> {
  const ended = new Promise<never>((_, reject) => {
    lines.on('error', (error) => reject(new ExitError(`the input cannot be read: ${error.message}`)));
    lines.once('close', () => reject(new ExitError('the input ended before a line')));
  });
  return Promise.race([lines.question(prompt), ended]);
}
