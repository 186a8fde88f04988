import { type Cost, costAt, type Sharing } from './fit.js';
import { type Mix, OPERATIONS, type Operation } from './operations.js';
import type { Idle, Spent } from './site.js';

/** The model: what `npm run bench -- --model` measures, and predicts from. */
export interface Model {
  /** Rows of the tables that it is fitted to. */
  readonly sizes: readonly number[];
  readonly idle: Idle;
  /** By operation, as fitted: those of one family share the constants. */
  readonly costs: Readonly<Record<string, { readonly node: Cost; readonly pg: Cost }>>;
  /** By operation, CPU time by connections, in the second of the tables. */
  readonly sharing: Readonly<Record<string, { readonly node: Sharing; readonly pg: Sharing }>>;
  readonly bytes: Bytes;
  /** By operation and rows, as measured. */
  readonly measured: Readonly<Record<string, Readonly<Record<number, Spent>>>>;
  /** A measurement to which the model was not fitted: predicted and measured. */
  readonly validation: readonly Comparison[];
}

/** Bytes, unless stated otherwise. */
export interface Bytes {
  /** Of one item in its table, and in all indexes, at each size. */
  readonly heap: Readonly<Record<number, number>>;
  readonly indexes: Readonly<Record<number, number>>;
  /** Of one item in each index, at the largest size. */
  readonly index: Readonly<Record<string, number>>;
  /** Of one event, with its index. */
  readonly event: number;
  /** Of the row with the row-count buckets, by rows. */
  readonly buckets: Readonly<Record<number, number>>;
  /** Of an idle connection of a client, in the service. */
  readonly connection: number;
  /** Of a session in PostgreSQL, not shared. */
  readonly session: number;
  /** Of the service without requests. */
  readonly process: number;
}

/** Operations of which many become one statement, so that their cost depends on the connections. */
export const SHARED: readonly string[] = ['read', 'create', 'patch'];

export interface Comparison {
  readonly what: string;
  readonly predicted: Cpu;
  readonly measured: Cpu;
}

/** Microseconds of CPU time of a request. */
export interface Cpu {
  readonly nodeUs: number;
  readonly pgUs: number;
}

export function operationOf(name: string): Operation {
  const operation = OPERATIONS.find((each) => each.name === name);
  if (operation === undefined) throw new Error(`there is no operation ${name}`);
  return operation;
}

type Fitted = Pick<Model, 'costs' | 'sharing'>;

/** The cost of a request in a table of so many rows, with so many connections to each process. */
export function predict(
  { costs, sharing }: Fitted,
  name: string,
  rows: number,
  connections = operationOf(name).connections,
): Cpu {
  const operation = operationOf(name);
  const touched = operation.touched(rows);
  const { node, pg } = costs[name]!;
  // The costs were measured with the operation's own connections.
  const fewer = 1 / connections - 1 / operation.connections;
  const { node: nodeShare, pg: pgShare } = sharing[name] ?? NOTHING_SHARED;
  return {
    nodeUs: costAt(node, rows, touched) + nodeShare.alone * fewer,
    pgUs: costAt(pg, rows, touched) + pgShare.alone * fewer,
  };
}

const NOTHING_SHARED = { node: { shared: 0, alone: 0 }, pg: { shared: 0, alone: 0 } };

/** The cost of an average request of a mix: only requests of one kind share a statement. */
export function predictMix(model: Fitted, mix: Mix, rows: number, connections: number): Cpu {
  const parts = Object.entries(mix).map(([name, part]) => ({
    part,
    ...predict(model, name, rows, Math.max(1, part * connections)),
  }));
  const sum = (of: keyof Cpu) => parts.reduce((total, each) => total + each.part * each[of], 0);
  return { nodeUs: sum('nodeUs'), pgUs: sum('pgUs') };
}

/** Requests in flight of a process under load. */
const CONNECTIONS = 64;
/** Part of a core that is planned to be in use: the rest is for peaks. */
const UTILIZATION = 0.7;
/** Connections to PostgreSQL of a process, with the default settings. */
const SESSIONS = 12;

/** By how much mixes cost PostgreSQL more than predicted: see docs/capacity.md. */
const MIX_FACTOR = 2;

/** The resources that a load needs. */
export interface Need {
  readonly nodeCores: number;
  readonly pgCores: number;
  readonly processes: number;
  readonly sessions: number;
}

/** Cores, processes and connections for so many requests a second of a mix. */
export function need(model: Fitted, mix: Mix, rows: number, rate: number): Need {
  const { nodeUs, pgUs } = predictMix(model, mix, rows, CONNECTIONS);
  const nodeCores = (rate * nodeUs) / 1e6;
  const processes = Math.ceil(nodeCores / UTILIZATION);
  return { nodeCores, pgCores: (MIX_FACTOR * rate * pgUs) / 1e6, processes, sessions: processes * SESSIONS };
}
