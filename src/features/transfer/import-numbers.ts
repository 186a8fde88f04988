import type { ColumnValue } from '../../collection/column.js';
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

/** The numbers of one series in a batch: those to draw, and the greatest that its records have. */
interface Series {
  drawn: number;
  least: number;
}

/** Rows with the next number where they have none. The numbers that they have are not drawn again. */
export async function numberRows(
  { run }: BulkConnection,
  resource: Resource,
  rows: readonly Row[],
): Promise<readonly Row[]> {
  const { name, numbers, columns } = resource;
  if (numbers.length === 0) return rows;
  const drawn: (number | undefined)[][] = rows.map(() => []);
  const numbered = rows.map((row) => [...row.columns]);
  for (const [index, each] of numbers.entries()) {
    const at = [...columns.keys()].indexOf(each.field);
    const next = await draw(each, rows);
    for (const [row, given] of rows.entries()) {
      if (!isMissing(each, given.input)) continue;
      drawn[row]![index] = next(parentOf(each, given));
      numbered[row]![at] = drawn[row]![index] as ColumnValue;
    }
  }
  return rows.map((row, at) => ({ ...row, head: withNumbers(row.head, drawn[at]!), columns: numbered[at]! }));

  async function draw(field: NumberField, rows: readonly Row[]): Promise<(parent: string) => number> {
    const series = new Map<string, Series>();
    for (const row of rows) {
      const parent = parentOf(field, row);
      const found = series.get(parent) ?? { drawn: 0, least: 0 };
      series.set(parent, found);
      if (isMissing(field, row.input)) found.drawn++;
      else found.least = Math.max(found.least, Number(member(row.input.fields, field.field)));
    }
    const text = fill(IMPORT_SQL.draw_numbers, { last: lastNumberSql(resource, field, 'series.parent') });
    const given = JSON.stringify([...series].map(([parent, each]) => ({ parent, ...each })));
    const last = new Map(
      (await run(text, [name, field.field, given])).map(({ parent, before }) => [
        String(parent),
        Number(before),
      ]),
    );
    return (parent) => {
      const number = last.get(parent)! + 1;
      last.set(parent, number);
      return number;
    };
  }
}

const parentOf = ({ parent }: NumberField, { input }: Row): string =>
  parent === undefined ? NO_PARENT : String(member(input.fields, parent));
