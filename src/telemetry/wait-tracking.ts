import { context, ROOT_CONTEXT, type Span, type Tracer } from '@opentelemetry/api';
import { endWait, startWait } from './tracing.js';

/** The tracer of this process; undefined: no service of the process is traced. */
let tracer: Tracer | undefined;

/** Makes a span of each wait of a request for the database from now on. */
export function traceWaits(found: Tracer): void {
  tracer = found;
}

/** Runs work, whose time is a wait of the current request if the request is traced. */
export function trackWait<T, R>(name: string, work: (input: T) => Promise<R>, input: T): Promise<R> {
  const span = tracer && startWait(tracer, name);
  return span ? within(span, work, input) : work(input);
}

async function within<T, R>(span: Span, work: (input: T) => Promise<R>, input: T): Promise<R> {
  try {
    const result = await work(input);
    endWait(span, undefined);
    return result;
  } catch (error) {
    endWait(span, error);
    throw error;
  }
}

/** Runs a statement, whose time is a wait of the current request if the request is traced. */
export function trackStatement<T, R>(text: string, work: (input: T) => Promise<R>, input: T): Promise<R> {
  return tracer ? trackWait(nameOf(text), work, input) : work(input);
}

/** Runs work that serves several requests, detached from the one that happens to start it. */
export function detached<T, R>(work: (input: T) => R, input: T): R {
  return tracer ? context.with(ROOT_CONTEXT, () => work(input)) : work(input);
}

const names = new Map<string, string>();

/** Names a statement for `nameOf`. Only for statements that are known at the start, since no name is removed. */
export function nameStatement(text: string, name: string): void {
  names.set(text, name);
}

/** The name of a statement, or else its first word; never its text or arguments. */
export function nameOf(text: string): string {
  return tracer ? (names.get(text) ?? text.split(/\W/, 1)[0] ?? '') : '';
}
