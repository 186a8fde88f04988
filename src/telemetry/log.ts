import { isObject, type Json } from '../json.js';

/** Writes a line with fields, a message, or both. An Error among the fields is `err`; alone it has its own message. */
type WriteLine = (fields: object | string, message?: string) => void;

export type Log = Readonly<Record<'debug' | 'info' | 'warn' | 'error' | 'fatal', WriteLine>>;

/** A destination of lines. */
export interface Lines {
  /** `line` ends with a newline. */
  write(line: string): unknown;
}

/** The numbers of pino, which programs that read logs know. */
const LEVELS = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 };

const ignore = (): void => undefined;

/** A log of JSON lines, from this level on; with `silent` it writes nothing. */
export function createLog(level: string, lines: Lines = { write: ignore }): Log {
  const min = LEVELS[level as keyof typeof LEVELS] ?? Number.POSITIVE_INFINITY;
  const writer = (number: number): WriteLine =>
    number < min ? ignore : (fields, message) => void lines.write(lineOf(number, fields, message));
  const { debug, info, warn, error, fatal } = LEVELS;
  return {
    debug: writer(debug),
    info: writer(info),
    warn: writer(warn),
    error: writer(error),
    fatal: writer(fatal),
  };
}

function lineOf(level: number, given: object | string, message?: string): string {
  const fields: { err?: unknown; msg?: unknown } =
    typeof given === 'string' ? {} : given instanceof Error ? { err: given } : given;
  let line = `{"level":${level},"time":${Date.now()}`;
  for (const [name, value] of Object.entries(fields)) {
    const text = textOf(name === 'err' ? described(value) : value);
    if (text !== undefined) line += `,${JSON.stringify(name)}:${text}`;
  }
  const { msg, err } = fields;
  const text =
    typeof given === 'string'
      ? given
      : (message ?? (msg === undefined && isError(err) ? err.message : undefined));
  return `${line}${text === undefined ? '' : `,"msg":${JSON.stringify(text)}`}}\n`;
}

/** Undefined: JSON has no such value. */
function textOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return JSON.stringify(value, withoutCycles());
  }
}

/** A replacer for values that contain themselves, or a bigint. */
function withoutCycles() {
  const ancestors: unknown[] = [];
  return function (this: unknown, _name: string, value: unknown): unknown {
    if (typeof value === 'bigint') return String(value);
    if (typeof value !== 'object' || value === null) return value;
    while (ancestors.length > 0 && ancestors.at(-1) !== this) ancestors.pop();
    if (ancestors.includes(value)) return '[Circular]';
    ancestors.push(value);
    return value;
  };
}

const isError = (value: unknown): value is Error =>
  typeof (value as { message?: unknown } | null | undefined)?.message === 'string';

/** An error as an object: its class, the messages and stacks of it and its causes, and its other fields. */
function described(error: unknown, within: readonly unknown[] = []): unknown {
  if (!isError(error)) return error;
  const path = [...within, error];
  const causes = causesOf(error);
  const text: Record<string, unknown> = {
    type: typeof error.constructor === 'function' ? error.constructor.name : error.name,
    message: causes.map(({ message }) => message).join(': '),
    stack: causes.map(({ stack }) => stack ?? '').join('\ncaused by: '),
  };
  const { errors } = error as { errors?: unknown };
  if (Array.isArray(errors)) text.aggregateErrors = errors.map((each) => described(each, path));
  // With inherited fields.
  for (const name in error) {
    const value = (error as unknown as Record<string, unknown>)[name];
    if (text[name] !== undefined) continue;
    if (!isError(value)) text[name] = value;
    else if (name !== 'cause' && !path.includes(value)) text[name] = described(value, path);
  }
  return text;
}

/** An error, its cause, the cause of that, and so on. */
function causesOf(error: Error): Error[] {
  const causes = [error];
  for (let { cause } = error; isError(cause) && !causes.includes(cause); { cause } = cause)
    causes.push(cause);
  return causes;
}

const LEVEL_NAMES = new Map(
  Object.entries(LEVELS).map(([name, level]): [number, string] => [level, name.toUpperCase()]),
);

/** Turns lines of JSON into lines for people at a terminal: the time, the level, the message and its details. */
export function readableLines(lines: Lines): Lines {
  return { write: (line) => lines.write(readable(line)) };
}

function readable(line: string): string {
  const entry = JSON.parse(line) as Record<string, Json>;
  const { level, time, msg, err, ...details } = entry;
  const at = new Date(Number(time)).toTimeString().slice(0, 8);
  const texts = Object.entries(details).map(([name, value]) => ` ${name}=${wordOf(value)}`);
  const stack = isObject(err) ? `\n  ${String(err.stack ?? err.message).replaceAll('\n', '\n  ')}` : '';
  return `${at} ${LEVEL_NAMES.get(Number(level)) ?? String(level)} ${String(msg ?? '')}${texts.join('')}${stack}\n`;
}

const wordOf = (value: Json) =>
  typeof value === 'string' && /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value);
