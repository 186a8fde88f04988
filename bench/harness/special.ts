import http from 'node:http';
import { type Contestant, startContestant } from './contestant.js';
import type { Ground } from './ground.js';
import { holdConnections } from './idle.js';
import { cpuOf, cpuOfFamily, forgetPeak, memoryOf } from './proc.js';
import { readWhole } from './read-whole.js';
import type { Row } from './row.js';
import type { Figures } from './stats.js';

/** The rows that are not about requests a second, measured on processes that have done nothing before. */

type Round = ReadonlyMap<string, Figures>;

/** Reads a whole list and drops it: how fast it comes, how soon, and how much memory it takes. */
export async function measureWhole(row: Row, ground: Ground): Promise<Round[]> {
  return withFresh(row, ground, async (fresh) => {
    const idle = new Map<string, number>();
    for (const contestant of fresh) {
      for (let page = 1; page <= 200; page++) await read(`${contestant.url}/items?page=${page}&count=0`);
      const memory = memoryOf(contestant.pid);
      if (memory) idle.set(contestant.name, memory.resident);
    }
    const rounds: Round[] = [];
    for (let round = 0; round <= ground.rounds; round++) {
      const figures = new Map<string, Figures>();
      for (const each of fresh) figures.set(each.name, await measureOne(each, ground, idle.get(each.name)));
      // The first time warms up.
      if (round > 0) rounds.push(figures);
    }
    return rounds;
  });
}

async function measureOne(
  { url, pid }: Contestant,
  { stage }: Ground,
  idleKb: number | undefined,
): Promise<Figures> {
  await stage.calm();
  forgetPeak(pid);
  const before = [cpuOf(pid), cpuOfFamily(stage.pid)] as const;
  const { status, bytes, firstByteMs, ms } = await readWhole(`${url}/users`);
  const after = [cpuOf(pid), cpuOfFamily(stage.pid)] as const;
  const peakKb = memoryOf(pid)?.peak;
  if (status !== 200) throw new Error(`GET /users responded with ${status}`);
  return {
    rate: 1000 / ms,
    mbPerSecond: bytes / 1000 / ms,
    firstByteMs,
    ...(idleKb !== undefined && peakKb !== undefined && { aboveIdleMb: (peakKb - idleKb) / 1024 }),
    ...(before[0] !== undefined && { nodeUs: (after[0]! - before[0]) * 1e6 }),
    ...(before[1] !== undefined && { pgUs: (after[1]! - before[1]) * 1e6 }),
  };
}

/** Opens many connections, sends one request on each, and lets them idle: what memory each takes. */
export async function measureIdle(row: Row, ground: Ground): Promise<Round[]> {
  const figures = new Map<string, Figures>();
  await withFresh(row, ground, async (fresh) => {
    for (const { url, pid, name } of fresh) {
      const path = `/users/${ground.ids[0]}`;
      for (let count = 0; count < 200; count++) await read(url + path);
      const before = memoryOf(pid);
      if (!before) throw new Error('there is no /proc to read the memory from');
      const release = await holdConnections(new URL(path, url), row.connections);
      const after = memoryOf(pid)!;
      release();
      figures.set(name, { idleKb: (after.resident - before.resident) / row.connections });
    }
    return [];
  });
  return [figures];
}

async function withFresh(
  row: Row,
  ground: Ground,
  work: (fresh: readonly Contestant[]) => Promise<Round[]>,
): Promise<Round[]> {
  const fresh: Contestant[] = [];
  try {
    for (const { name } of row.entrants)
      fresh.push(await startContestant(name, ground.databases.get(name) ?? ''));
    return await work(fresh);
  } finally {
    for (const contestant of fresh) await contestant.stop();
  }
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

function read(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent }, (response) => {
      response.on('error', reject).on('end', resolve).resume();
    });
    request.on('error', reject);
  });
}
