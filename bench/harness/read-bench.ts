import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSql } from '../../test/support/sql.js';
import { startContestant } from './contestant.js';
import { loadByWrk } from './load-wrk.js';
import { cpuOf } from './proc.js';
import { openStage } from './stage.js';

/** Responses a second, and what one costs the service: CPU time in microseconds. */
export interface Reads {
  readonly rate: number;
  readonly us: number;
}

/** A service on a filled database of its own. */
export interface ReadBench {
  readonly url: string;
  readonly pid: number;
  readonly databaseUrl: string;
  /** A file with ids of users, one a line. */
  readonly idsFile: string;
  /** The path of a user. */
  readonly path: string;
  /** Reads users by id over 64 connections. Throws when a response is not a 200. */
  read(seconds: number): Promise<Reads>;
  close(): Promise<void>;
}

const SIZE = { users: 20_000, items: 200_000 };

/** Fills a database, starts a service on it and warms that up. */
export async function openReadBench(settings: Readonly<Record<string, string>> = {}): Promise<ReadBench> {
  const stage = await openStage((line) => process.stderr.write(`${line}\n`));
  const folder = await mkdtemp(join(tmpdir(), 'plinth-bench-'));
  const clean = async () => {
    await rm(folder, { recursive: true, force: true });
    await stage.close();
  };
  try {
    const databaseUrl = await stage.copy('plinth', SIZE, 'service');
    await stage.settle(databaseUrl);
    const ids = await idsOf(databaseUrl);
    const idsFile = join(folder, 'ids.txt');
    await writeFile(idsFile, `${ids.join('\n')}\n`);
    const service = await startContestant('plinth', databaseUrl, settings);
    const { url, pid } = service;
    const request = { method: 'GET', path: '/users/{id}', headers: {} };
    const read = async (seconds: number): Promise<Reads> => {
      const before = cpuOf(pid) ?? 0;
      const load = { url, connections: 64, seconds, request, status: 200, idsFile };
      const { rate, requests, wrong } = await loadByWrk(load);
      if (wrong > 0) throw new Error(`${wrong} reads did not get a 200`);
      return { rate, us: (((cpuOf(pid) ?? 0) - before) * 1e6) / requests };
    };
    const close = async () => {
      await service.stop();
      await clean();
    };
    return { url, pid, databaseUrl, idsFile, path: `/users/${ids[0]}`, read, close };
  } catch (error) {
    await clean();
    throw error;
  }
}

async function idsOf(databaseUrl: string): Promise<string[]> {
  const sql = openSql(databaseUrl, { max: 1 });
  try {
    return (await sql<{ id: string }[]>`select id from users`).map(({ id }) => id);
  } finally {
    await sql.end();
  }
}
