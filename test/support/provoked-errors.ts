import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CORE_TYPES, typeOf, typesIn } from '../../src/errors/catalogue.js';
import type { ProblemType } from '../../src/errors/problem.js';

const FEATURES = fileURLToPath(new URL('../../../src/features/', import.meta.url));

/** Where each copy of this module writes the errors that it has seen: a process with renamed collections has two. */
const FOLDER = process.env.PLINTH_TEST_ERRORS;
/** The types of problems of the core and of each feature, by the feature's name. */
export const ERROR_TYPES: ReadonlyMap<string, readonly ProblemType[]> = new Map([
  ['', CORE_TYPES],
  ...(await Promise.all(
    readdirSync(FEATURES)
      .filter((name) => existsSync(join(FEATURES, name, 'errors.ts')))
      .map(
        async (name) =>
          [
            name,
            typesIn((await import(`../../src/features/${name}/errors.js`)) as Record<string, unknown>),
          ] as const,
      ),
  )),
]);

const provoked = new Set<string>();

if (FOLDER !== undefined)
  process.on('exit', () => writeFileSync(join(FOLDER, `${randomUUID()}.txt`), [...provoked].join('\n')));

/** Remembers the error that a response contains, if it is one, or the error that the job of a response ended with. */
export function noteError(status: number, text: string): void {
  const [, code] = status < 400 ? [] : (/"code":"([A-Z0-9_]+)"/.exec(text) ?? []);
  if (code !== undefined) provoked.add(`${status} ${code}`);
  const [, jobStatus, jobCode] = /"error":\{"status":(\d{3}),"code":"([A-Z0-9_]+)"/.exec(text) ?? [];
  if (jobCode !== undefined) provoked.add(`${jobStatus} ${jobCode}`);
}

/** Throws if the type of a problem document is not the address of the page of its code. */
export function requireType({ type, code }: { readonly type?: unknown; readonly code?: unknown }): void {
  const [, named = ''] = /^(?:\/[\w/-]*)?\/errors\/(\w+)$/.exec(String(type)) ?? [];
  if (named !== code || !typeOf([...ERROR_TYPES.values()].flat(), named))
    throw new Error(`the problem ${String(code)} has the type ${String(type)}, which has no page`);
}

/** The entries of the table of errors that the tests of a whole run left out or contradicted. */
export function errorGaps(folder: string): string[] {
  const lines = new Set(
    readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n')),
  );
  lines.delete('');
  const seen = [...lines].map((line) => line.split(' ') as [status: string, code: string]);
  const codes = new Set(seen.map(([, code]) => code));
  const types = [...ERROR_TYPES.values()].flat();
  const missing = types.filter(
    ({ code, suffix }) => ![...codes].some((each) => each === code || (suffix && each.endsWith(suffix))),
  );
  // A named code has two statuses.
  const wrong = seen.filter(([status, code]) => {
    const described = typeOf(types, code)?.status;
    return described !== Number(status) && !(code.endsWith('_NOT_FOUND') && status === '422');
  });
  return [
    ...missing.map(({ code }) => `no test provokes ${code}`),
    ...wrong.map(([status, code]) => `the table does not contain ${code} with the status ${status}`),
  ];
}
