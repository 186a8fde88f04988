import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** Linux counts CPU time in ticks of a hundredth of a second. */
const TICKS_PER_SECOND = 100;

/** A process as /proc/<pid>/stat describes it, CPU time in seconds. */
export interface ProcessStat {
  readonly parent: number;
  /** CPU time of the process itself, user and system. */
  readonly cpu: number;
  /** CPU time of the children of the process that have ended. */
  readonly endedCpu: number;
}

/** Reads a line of /proc/<pid>/stat. The name in it may hold blanks and parentheses, so it ends at the last one. */
export function parseStat(line: string): ProcessStat {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const seconds = (from: number) => (Number(fields[from]) + Number(fields[from + 1])) / TICKS_PER_SECOND;
  return { parent: Number(fields[1]), cpu: seconds(11), endedCpu: seconds(13) };
}

/** CPU seconds of one process so far; undefined where there is no /proc. */
export function cpuOf(pid: number): number | undefined {
  return statOf(pid)?.cpu;
}

/** CPU seconds so far of a server and all processes that it has or had. */
export function cpuOfFamily(pid: number): number | undefined {
  const own = statOf(pid);
  if (!own) return undefined;
  let total = own.cpu + own.endedCpu;
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? statOf(Number(name)) : undefined;
    if (stat?.parent === pid) total += stat.cpu;
  }
  return total;
}

function statOf(pid: number): ProcessStat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return undefined;
  }
}

/** Resident memory in KiB: now, and at its highest since `forgetPeak`. */
export interface Memory {
  readonly resident: number;
  readonly peak: number;
}

/** The memory of a process; undefined where there is no /proc. */
export function memoryOf(pid: number): Memory | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'latin1');
    const read = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)![1]);
    return { resident: read('VmRSS'), peak: read('VmHWM') };
  } catch {
    return undefined;
  }
}

/** Begins to look for the highest memory anew. */
export function forgetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // Where that is not allowed the peak is that of the whole life, which can only be higher.
  }
}

/** The most files, and so connections, that this process may have open; undefined where there is no /proc. */
export function openFilesLimit(): number | undefined {
  try {
    const [, limit] = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    return limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit);
  } catch {
    return undefined;
  }
}
