import type { Contestant, Name } from './contestant.js';
import type { Loader, Outcome } from './load.js';
import { probe } from './probe.js';
import { cpuOf, cpuOfFamily } from './proc.js';
import type { Request } from './request.js';
import { type Entrant, type Row, statusOf } from './rows.js';
import { measureIdle, measureWhole } from './special.js';
import type { Stage } from './stage.js';
import { type Figures, medians, shortened } from './stats.js';

/** What all rows are measured on. */
export interface Ground {
  readonly stage: Stage;
  readonly load: Loader;
  readonly contestants: ReadonlyMap<Name, Contestant>;
  readonly databases: ReadonlyMap<Name, string>;
  readonly ids: readonly string[];
  readonly idsFile: string;
  /** An access token that the guarded contestant takes. */
  readonly token: string;
  readonly rounds: number;
  readonly seconds: number;
}

/** A contestant's figures in one row. */
export interface Measured {
  readonly label: string;
  readonly rounds: readonly Figures[];
  readonly median: Figures;
}

/** Measures a row: its entrants by turns, round after round. Throws when one does not answer as it should. */
export async function measureRow(row: Row, ground: Ground): Promise<Measured[]> {
  const rounds = await roundsOf(row, ground);
  if (row.writes) for (const { name } of row.entrants) await ground.stage.settle(ground.databases.get(name)!);
  return row.entrants.map(({ label }) => {
    const own = rounds.map((round) => shortened(round.get(label)!));
    return { label, rounds: own, median: shortened(medians(own)) };
  });
}

type Round = ReadonlyMap<string, Figures>;

async function roundsOf(row: Row, ground: Ground): Promise<Round[]> {
  if (row.kind === 'whole') return measureWhole(row, ground);
  if (row.kind === 'idle') return measureIdle(row, ground);
  await probe(row, ground);
  const seconds = new Map<string, number>();
  const warming = row.writes && row.connections > 1 ? compiling(ground) : ground.seconds / 2;
  for (const entrant of row.entrants) {
    const { rate } = await loadOnce(row, entrant, ground, warming);
    seconds.set(entrant.label, secondsFor(rate, ground.seconds));
  }
  const rounds: Round[] = [];
  for (let round = 0; round < ground.rounds; round++) {
    const figures = new Map<string, Figures>();
    for (const entrant of row.entrants)
      figures.set(entrant.label, await measureOnce(row, entrant, ground, seconds.get(entrant.label)!));
    rounds.push(figures);
  }
  return rounds;
}

/** Time that V8 has to compile what every request of a kind runs through; it takes two to three seconds. */
const compiling = ({ seconds }: Ground) => Math.max(1.5, 2 * seconds);

/** Loads each contestant with the first row that has it, or that row would measure how V8 compiles; writes come later. */
export async function warmUp(rows: readonly Row[], ground: Ground): Promise<void> {
  const known = new Set<Name>();
  for (const row of rows.filter(({ kind, writes }) => kind === 'load' && !writes)) {
    for (const entrant of row.entrants) {
      if (known.has(entrant.name)) continue;
      known.add(entrant.name);
      await loadOnce(row, entrant, ground, compiling(ground));
    }
  }
}

const MOST_WARMING = 20;
const STEADY = 3;

/**
 * Loads a row until its rate has stopped rising: three times in a row less than a twentieth above the best before. What
 * a large table's reads need is read from the disk first, and that is no cost of the request.
 */
export async function warm(row: Row, ground: Ground): Promise<void> {
  await probe(row, ground);
  for (const entrant of row.entrants) {
    let best = 0;
    let steady = 0;
    for (let times = 0; times < MOST_WARMING && steady < STEADY; times++) {
      const { rate } = await loadOnce(row, entrant, ground, ground.seconds);
      steady = rate > 1.05 * best ? 0 : steady + 1;
      best = Math.max(best, rate);
    }
  }
}

const ENOUGH_REQUESTS = 10;
const MOST_TIMES_LONGER = 4;

/** A round is longer for what is so slow that a few requests more or less would make the figure. */
function secondsFor(rate: number, seconds: number): number {
  const needed = Math.ceil(ENOUGH_REQUESTS / rate);
  return Math.min(Math.max(seconds, needed), Math.ceil(seconds * MOST_TIMES_LONGER));
}

/** One round of one entrant. */
export async function measureOnce(
  row: Row,
  entrant: Entrant,
  ground: Ground,
  seconds: number,
): Promise<Figures> {
  const { pid } = ground.contestants.get(entrant.name)!;
  const before = [cpuOf(pid), cpuOfFamily(ground.stage.pid)] as const;
  const { requests, rate, p50, p99 } = await loadOnce(row, entrant, ground, seconds);
  const after = [cpuOf(pid), cpuOfFamily(ground.stage.pid)] as const;
  if (requests === 0) throw new Error(`${entrant.label} gave no answer within ${seconds} s`);
  return {
    rate,
    p50,
    p99,
    ...perRequest('nodeUs', before[0], after[0], requests),
    ...perRequest('pgUs', before[1], after[1], requests),
  };
}

function perRequest(
  name: 'nodeUs' | 'pgUs',
  before: number | undefined,
  after: number | undefined,
  requests: number,
): Figures {
  if (before === undefined || after === undefined) return {};
  return { [name]: ((after - before) * 1e6) / requests };
}

/** The request as it is sent: `{token}` in a header field is the access token of the run. */
export function requestOf({ request }: Entrant, { token }: Ground): Request {
  const fields = Object.entries(request.headers).map(([name, value]) => [
    name,
    value.replace('{token}', token),
  ]);
  return { ...request, headers: Object.fromEntries(fields) };
}

async function loadOnce(row: Row, entrant: Entrant, ground: Ground, seconds: number): Promise<Outcome> {
  await ground.stage.calm();
  const outcome = await ground.load({
    url: ground.contestants.get(entrant.name)!.url,
    connections: row.connections,
    seconds,
    request: requestOf(entrant, ground),
    status: statusOf(row, entrant),
    idsFile: ground.idsFile,
  });
  if (outcome.wrong > 0)
    throw new Error(`${outcome.wrong} of ${outcome.requests} answers of ${entrant.label} are wrong`);
  return outcome;
}
