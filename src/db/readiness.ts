import type { Db } from './db.js';
import { newestMigration } from './migrate.js';

/** Why the service cannot do its work now, in a word for machines; undefined: it can. */
export type NotReadyReason = 'draining' | 'maintenance' | 'database' | 'schema' | undefined;

/** How long an answer of the database is good for, and how long one is waited for; milliseconds. */
const FRESH_MS = 1000;
const PATIENCE_MS = 1000;

/** Asks the database at most once a second, however often it is asked itself. */
export function databaseReadiness(db: Db): () => Promise<NotReadyReason> {
  const newest = newestMigration();
  let asked: { readonly at: number; readonly answer: Promise<NotReadyReason> } | undefined;
  return () => {
    const now = performance.now();
    if (!asked || now - asked.at >= FRESH_MS) asked = { at: now, answer: inTime(ask(db, newest)) };
    return asked.answer;
  };
}

async function ask(db: Db, newest: string): Promise<NotReadyReason> {
  try {
    const [row] = await db.run('select max(name) as name from migrations', []);
    // A newer schema is that of the next version, which is being rolled out.
    return typeof row?.name === 'string' && row.name >= newest ? undefined : 'schema';
  } catch {
    // What is wrong with it is told by the requests that need it.
    return 'database';
  }
}

async function inTime(answer: Promise<NotReadyReason>): Promise<NotReadyReason> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<NotReadyReason>((resolve) => {
    timer = setTimeout(resolve, PATIENCE_MS, 'database');
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
