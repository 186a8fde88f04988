import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CATALOGUE, describeError, NAMED } from '../../src/errors/catalogue.js';

/** Where each copy of this module writes the errors that it has seen: a process with renamed collections has two. */
const FOLDER = process.env.PLINTH_TEST_ERRORS;
const provoked = new Set<string>();

if (FOLDER !== undefined)
  process.on('exit', () => writeFileSync(join(FOLDER, `${randomUUID()}.txt`), [...provoked].join('\n')));

/** Remembers the error that a response contains, if it is one. */
export function noteError(status: number, text: string): void {
  const [, code] = status < 400 ? [] : (/"code":"([A-Z_]+)"/.exec(text) ?? []);
  if (code !== undefined) provoked.add(`${status} ${code}`);
}

/** The entries of the catalogue of errors that the tests of a whole run left out or contradicted. */
export function errorGaps(folder: string): string[] {
  const lines = new Set(
    readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n')),
  );
  lines.delete('');
  const seen = [...lines].map((line) => line.split(' ') as [status: string, code: string]);
  const codes = new Set(seen.map(([, code]) => code));
  const named = Object.keys(NAMED).filter((suffix) => ![...codes].some((code) => code.endsWith(suffix)));
  const missing = [...Object.keys(CATALOGUE).filter((code) => !codes.has(code)), ...named];
  // A named code has two statuses.
  const wrong = seen.filter(([status, code]) => {
    const described = describeError(code)?.status;
    return described !== Number(status) && !(code.endsWith('_NOT_FOUND') && status === '422');
  });
  return [
    ...missing.map((code) => `no test provokes ${code}`),
    ...wrong.map(([status, code]) => `the catalogue does not contain ${code} with the status ${status}`),
  ];
}
