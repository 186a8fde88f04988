import { spawnSync } from 'node:child_process';
import { loadByAutocannon } from './load-autocannon.js';
import { loadByWrk } from './load-wrk.js';
import type { Loader } from './loader.js';

/** The requested load generator; by default wrk if it is installed, since it needs the least CPU. */
export function pickLoader(wanted: 'wrk' | 'autocannon' | undefined): { name: string; load: Loader } {
  const installed = spawnSync('wrk', ['--version']).error === undefined;
  if (wanted === 'wrk' && !installed) throw new Error('wrk is not installed');
  return wanted !== 'autocannon' && installed
    ? { name: 'wrk', load: loadByWrk }
    : { name: 'autocannon', load: loadByAutocannon };
}
