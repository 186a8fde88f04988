import { parseDate } from './parsers.js';

export type Env = Readonly<Record<string, string | undefined>>;

/** Reads settings one by one, and keeps what is wrong with them: one line a fault, each naming its variable. */
export interface Reader {
  readonly faults: string[];
  /** `takes` ends the sentence "NAME takes". `parse` gives undefined for what it does not take. */
  read<T>(name: string, fallback: T, takes: string, parse: (text: string) => T | undefined): T;
  integer(name: string, fallback: number, min: number, max: number): number;
  flag(name: string, fallback?: boolean): boolean;
  date(name: string): Date | undefined;
}

/** A variable that is empty or blank is as one that is not set. */
export function createReader(env: Env): Reader {
  const faults: string[] = [];
  const read = <T>(name: string, fallback: T, takes: string, parse: (text: string) => T | undefined): T => {
    const text = env[name]?.trim() ?? '';
    if (text === '') return fallback;
    const value = parse(text);
    if (value === undefined) faults.push(`${name} takes ${takes}`);
    return value ?? fallback;
  };
  const integer = (name: string, fallback: number, min: number, max: number) =>
    read(name, fallback, `an integer from ${min} to ${max}`, (text) => {
      const value = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
      return value >= min && value <= max ? value : undefined;
    });
  const flag = (name: string, fallback = false) =>
    read(name, fallback, '`on` or `off`', (text) =>
      text === 'on' ? true : text === 'off' ? false : undefined,
    );
  const date = (name: string) =>
    read<Date | undefined>(name, undefined, 'a date as in RFC 3339: 2026-12-31T00:00:00Z', parseDate);

  return { faults, read, integer, flag, date };
}
