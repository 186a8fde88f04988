import type { Ground } from './ground.js';
import type { Outcome } from './loader.js';
import { probe } from './probe.js';
import { cpuOf, cpuOfFamily } from './proc.js';
import { withToken } from './request.js';
import { type Entrant, type Row, statusOf } from './row.js';
import { measureIdle, measureWhole } from './special.js';
import { type Figures, medians, shortened } from './stats.js';

/** A contestant's figures in one row. */
export interface Measured {
  readonly label: string;
  readonly rounds: readonly Figures[];
  readonly median: Figures;
}

/** Measures a row: its entrants by turns, round after round. Throws when one does not respond as it should. */
export async function measureRow(row: Row, ground: Ground): Promise<Measured[]> {
  const rounds = await roundsOf(row, ground);
  if (row.writes) for (const { name } of row.entrants) await ground.stage.settle(ground.databases.get(name)!);
  return row.entrants.map(({ label }) => {
    const own = rounds.map((round) => shortened(round.get(label)!));
    return { label, rounds: own, median: shortened(medians(own)) };
  });
}

type Round = ReadonlyMap<string, Figures>;

/** Seconds of the round that warms up: more where V8 has yet to compile what this kind of request runs through. */
function warmingOf(row: Row, { name, request }: Entrant, { seconds, compiled }: Ground): number {
  // A write that is alone runs through other code than those that share a statement.
  const kind = `${name} ${row.writes ? `${request.method} ${row.connections}` : 'reads'}`;
  if (compiled.has(kind)) return seconds / 2;
  compiled.add(kind);
  return Math.max(2.5, 2 * seconds);
}

async function roundsOf(row: Row, ground: Ground): Promise<Round[]> {
  if (row.kind === 'whole') return measureWhole(row, ground);
  if (row.kind === 'idle') return measureIdle(row, ground);
  await probe(row, ground);
  const seconds = new Map<string, number>();
  for (const entrant of row.entrants) {
    const { rate } = await loadOnce(row, entrant, ground, warmingOf(row, entrant, ground));
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

const MAX_WARMING = 20;
const STEADY = 3;

/**
 * Loads a row until its rate has stopped rising: three times in a row less than a twentieth above the best before. The pages
 * of a large table are read from the disk first, which is no cost of the request.
 */
export async function warm(row: Row, ground: Ground): Promise<void> {
  await probe(row, ground);
  for (const entrant of row.entrants) {
    let best = 0;
    let steady = 0;
    for (let times = 0; times < MAX_WARMING && steady < STEADY; times++) {
      const { rate } = await loadOnce(row, entrant, ground, ground.seconds);
      steady = rate > 1.05 * best ? 0 : steady + 1;
      best = Math.max(best, rate);
    }
  }
}

const ENOUGH_REQUESTS = 10;
const MAX_TIMES_LONGER = 4;

/** A round is longer for what is so slow that a few requests more or less would make the figure. */
function secondsFor(rate: number, seconds: number): number {
  return Math.min(Math.max(seconds, ENOUGH_REQUESTS / rate), seconds * MAX_TIMES_LONGER);
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
  if (requests === 0) throw new Error(`${entrant.label} gave no response within ${seconds} s`);
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

async function loadOnce(row: Row, entrant: Entrant, ground: Ground, seconds: number): Promise<Outcome> {
  await ground.stage.calm();
  const outcome = await ground.load({
    url: ground.contestants.get(entrant.name)!.url,
    connections: row.connections,
    seconds,
    request: withToken(entrant.request, ground.token),
    status: statusOf(row, entrant),
    idsFile: ground.idsFile,
  });
  if (outcome.wrong > 0)
    throw new Error(`${outcome.wrong} of ${outcome.requests} responses of ${entrant.label} are wrong`);
  return outcome;
}
