import type { Request } from './request.js';

/** The load that a server gets. */
export interface Load {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  readonly request: Request;
  /** The status that every response must have. */
  readonly status: number;
  /** A file with ids of records, one per line. */
  readonly idsFile: string;
}

/** The result; times in milliseconds. */
export interface Outcome {
  readonly requests: number;
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  /** Responses with another status than expected, and failed connections. */
  readonly wrong: number;
}

/** Loads a server from a separate process. */
export type Loader = (load: Load) => Promise<Outcome>;
