import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Runs a program to its end and gives what it printed; it is interrupted after so many milliseconds. */
export async function outputOf(
  program: string,
  args: readonly string[],
  interruptMs?: number,
): Promise<string> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const timer = interruptMs === undefined ? undefined : setTimeout(() => child.kill('SIGINT'), interruptMs);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await once(child, 'close');
  clearTimeout(timer);
  return output;
}
