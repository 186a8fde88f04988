import { lastNumberSql, NO_PARENT, withNumbers } from '../../collection/numbers.js';
import type { NumberField, Resource } from '../../collection/resource.js';
import type { ValidatedInput } from '../../collection/validated-input.js';
import type { BulkConnection } from '../../db/bulk-connection.js';
import { fill } from '../../db/statements.js';
import { member } from '../../json.js';
import type { Row } from './import-row.js';
import { IMPORT_SQL } from './import-statements.js';

/** Whether a record has no value of a field with numbers, so that it gets the next one. */
export const isMissing = ({ field }: NumberField, { fields }: ValidatedInput): boolean =>
  member(fields, field) === undefined;

/** Rows with the next number where they have none. The numbers that they have are not drawn again. */
export async function numberRows(
  { run }: BulkConnection,
  resource: Resource,
  rows: readonly Row[],
): Promise<readonly Row[]> {
  const { name, numbers, columns } = resource;
  if (numbers.length === 0) return rows;
  const drawn = rows.map((): (number | undefined)[] => []);
  for (const each of numbers) {
    /** By parents, how many numbers to draw, and the greatest one that the rows have. */
    const series = new Map<string, { drawn: number; least: number }>();
    for (const row of rows) {
      const found = series.get(parentOf(each, row)) ?? { drawn: 0, least: 0 };
      series.set(parentOf(each, row), found);
      if (isMissing(each, row.input)) found.drawn++;
      else found.least = Math.max(found.least, Number(member(row.input.fields, each.field)));
    }
    const text = fill(IMPORT_SQL.draw_numbers, { last: lastNumberSql(resource, each, 'series.parent') });
    const given = JSON.stringify([...series].map(([parent, counts]) => ({ parent, ...counts })));
    const stored = await run(text, [name, each.field, given]);
    const last = new Map(stored.map(({ parent, before }) => [String(parent), Number(before)]));
    for (const [at, row] of rows.entries()) {
      const next = last.get(parentOf(each, row))! + 1;
      if (isMissing(each, row.input)) last.set(parentOf(each, row), next);
      drawn[at]!.push(isMissing(each, row.input) ? next : undefined);
    }
  }
  const indexes = [...columns.keys()].map((field) => numbers.findIndex((each) => each.field === field));
  return rows.map((row, at) => ({
    ...row,
    head: withNumbers(row.head, drawn[at]!),
    columns: row.columns.map((value, column) => drawn[at]![indexes[column]!] ?? value),
  }));
}

const parentOf = ({ parent }: NumberField, { input }: Row): string =>
  parent === undefined ? NO_PARENT : String(member(input.fields, parent));
