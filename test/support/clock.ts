import postgres from 'postgres';
import { testDatabase } from './service.js';
import type { Test } from './test.js';

/** The URL of a database whose clock is so many seconds ahead. */
export async function shiftedDatabase(t: Test, seconds: number): Promise<string> {
  const url = await testDatabase(t);
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  const name = new URL(url).pathname.slice(1);
  await sql.unsafe(`
    create schema shifted;
    ${clock(seconds)};
    alter database ${name} set search_path = public, shifted, pg_catalog;
  `);
  await sql.end();
  return url;
}

/** Moves the clock of a shifted database. */
export async function shiftClock(url: string, seconds: number): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  await sql.unsafe(clock(seconds));
  await sql.end();
}

const clock = (seconds: number) => `
  create or replace function shifted.now() returns timestamptz stable language sql
    as $$ select pg_catalog.now() + make_interval(secs => ${seconds}) $$`;
