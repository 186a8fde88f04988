import { spawnSync } from 'node:child_process';
import { loadByAutocannon } from './load-autocannon.js';
import { loadByWrk } from './load-wrk.js';
import type { Request } from './request.js';

/** How a server is to be loaded. */
export interface Load {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  readonly request: Request;
  /** The status that every answer has to have. */
  readonly status: number;
  /** A file with ids of records, one a line. */
  readonly idsFile: string;
}

/** What came of it; times in milliseconds. */
export interface Outcome {
  readonly requests: number;
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  /** Answers with another status than expected, and connections that failed. */
  readonly wrong: number;
}

/** Loads a server from a process of its own. */
export type Loader = (load: Load) => Promise<Outcome>;

/** The load generator that was asked for; else wrk when it is installed, which takes the least CPU itself. */
export function pickLoader(wanted: 'wrk' | 'autocannon' | undefined): { name: string; load: Loader } {
  const installed = spawnSync('wrk', ['--version']).error === undefined;
  if (wanted === 'wrk' && !installed) throw new Error('wrk is not installed');
  return wanted !== 'autocannon' && installed
    ? { name: 'wrk', load: loadByWrk }
    : { name: 'autocannon', load: loadByAutocannon };
}
