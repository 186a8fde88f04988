import { once } from 'node:events';
import { Readable, type Writable } from 'node:stream';
import postgres from 'postgres';

/*
 * Workarounds for the driver (postgres 3.4.9), one function each. The class Connection works around what happens when a
 * connection is lost.
 */

const VARIABLE = 'PGTARGETSESSIONATTRS';

/**
 * Creates an instance of the driver that depends on its options alone. Of all variables that the driver reads, no option can
 * override this one, which it would demand of replicas as well; the configuration has read it. No issue reports it:
 * https://github.com/porsager/postgres/blob/v3.4.9/src/index.js (tsa).
 */
export function createDriver(options: object): postgres.Sql {
  const { [VARIABLE]: value } = process.env;
  if (value === undefined) return postgres(options);
  delete process.env[VARIABLE];
  try {
    return postgres(options);
  } finally {
    process.env[VARIABLE] = value;
  }
}

/** V8 optimizes an object as a prototype after its properties were looked up often: currently fifty times. */
const LOOKUPS = 500;

/**
 * Works around slow compilation of code that creates the driver's objects. V8 stores a class with a computed static member
 * (`static get [Symbol.species]`) as a dictionary, and then discards optimized code of the constructor and its callers
 * again and again. Lookups through the class make V8 store it with a stable shape. No issue reports it:
 * https://github.com/porsager/postgres/blob/v3.4.9/src/query.js and result.js.
 */
export function stabilizeClasses(...classes: readonly object[]): void {
  for (const each of classes) {
    const heir: { readonly missing?: never } = Object.create(each);
    for (let lookups = 0; lookups < LOOKUPS; lookups++) void heir.missing;
  }
}

/**
 * Resumes the socket behind the rows of a COPY that have ended. The driver pauses its socket when the stream is full, and
 * only a read resumes it. An ended stream reads no more, so the end of the statement would never arrive:
 * https://github.com/porsager/postgres/issues/499, https://github.com/porsager/postgres/pull/1016.
 */
export function resumeSocket(rows: Readable): void {
  rows._read(0);
}

/**
 * The rows of a `copy ... to stdout`. An error of the server may come together with the first rows: the driver then emits it
 * before the caller has the stream, and an error without a listener ends the process. A reader of the stream gets it.
 */
export function receiveRows(sql: Pick<postgres.Sql, 'unsafe'>, text: string): Promise<Readable> {
  const query = sql.unsafe(text) as postgres.PendingQuery<postgres.Row[]> & { resolve(value: unknown): void };
  const { resolve } = query;
  // The driver resolves the query with the stream, and again with the result at the end.
  query.resolve = (value) => {
    if (value instanceof Readable) value.on('error', () => undefined);
    resolve(value);
  };
  return query.readable();
}

/**
 * Sends rows to a `copy ... from stdin`, and rejects with the server's error. The driver passes an error to the stream of
 * rows only before their end; later it rejects the query, which its stream has resolved already:
 * https://github.com/porsager/postgres/issues/1173.
 */
export async function sendRows(sql: postgres.Sql, text: string, rows: Buffer): Promise<void> {
  const query = sql.unsafe(text) as postgres.PendingQuery<postgres.Row[]> & { reject(error: Error): void };
  const failed = new Promise<never>((_, reject) => {
    const { reject: rejectQuery } = query;
    query.reject = (error) => {
      rejectQuery(error);
      reject(error);
    };
  });
  failed.catch(() => undefined); // thrown by the race below
  const sink: Writable = await query.writable();
  const ended = once(sink, 'finish');
  // The stream reports an error after the query has done so.
  ended.catch(() => undefined);
  sink.end(rows);
  await Promise.race([ended, failed]);
}
