import { readFileSync } from 'node:fs';

/** Milliseconds of one of the ticks in which Linux counts the time of processes. */
const TICK_MS = 10;

/** The CPU time that this process has used, and the processes that it started and that have ended. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + ofChildrenMs();
}

function ofChildrenMs(): number {
  if (process.platform !== 'linux') return 0;
  // The name of the program, in parentheses, may have spaces.
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)!.split(' ');
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS;
}
