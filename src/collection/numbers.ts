import type { Row } from '../db/db.js';
import type { StoredRecord } from './record.js';
import type { NumberField, Resource } from './resource.js';

/** The parent of a series for the whole collection. */
export const NO_PARENT = '00000000-0000-0000-0000-000000000000';

/** Stands for a number in a document until it is drawn: a character that JSON text never contains. */
const mark = (index: number): string => String.fromCharCode(index + 1);

/** The members of a document for numbers that are to be drawn. */
export const numberMembers = ({ numbers }: Pick<Resource, 'numbers'>): string[] =>
  numbers.map(({ field }, index) => `${JSON.stringify(field)}:${mark(index)}`);

/** A text with numbers in place of what stands for them. */
export const withNumbers = (text: string, numbers: readonly (number | undefined)[]): string =>
  numbers.reduce<string>((result, number, index) => result.replace(mark(index), String(number)), text);

/** A record with the numbers that its statement returned. */
export function numberedRecord(
  { numbers }: Pick<Resource, 'numbers'>,
  stored: StoredRecord,
  row: Row,
): StoredRecord {
  if (numbers.length === 0) return stored;
  const drawn = numbers.map((_, index) => Number(row[`number$${index}`]));
  return { ...stored, doc: withNumbers(stored.doc, drawn) };
}

/** The SQL of the present last number of a series, whose parent is `parent`. */
export function lastNumberSql({ table, columns }: Resource, field: NumberField, parent: string): string {
  const column = columns.get(field.field)!.name;
  const condition = field.parent === undefined ? '' : ` where ${columns.get(field.parent)!.name} = ${parent}`;
  return `(select coalesce(max(${column}), 0)::bigint from ${table}${condition})`;
}

/** The parts of the statement that creates records with numbers. */
export function numberParts(resource: Resource): Record<string, string> {
  const { numbers, columns } = resource;
  const parentOf = ({ parent }: NumberField) =>
    parent === undefined ? `'${NO_PARENT}'` : `record.${columns.get(parent)!.name}`;
  const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;
  const indexOf = (field: string) => numbers.findIndex((each) => each.field === field);
  return {
    series: numbers
      .map((each, index) => `(${index}, ${literal(each.field)}, ${parentOf(each)}::uuid)`)
      .join(', '),
    last: numbers
      .map((each, index) => `when ${index} then ${lastNumberSql(resource, each, 'parent')}`)
      .join(' '),
    numbers: numbers
      .map(
        (each, index) =>
          `, series_${index}.before + row_number() over (partition by ${parentOf(each)} order by record.id) as number$${index}`,
      )
      .join(''),
    series_of: numbers
      .map(
        (each, index) =>
          `\n  join raised as series_${index} on series_${index}.field = ${literal(each.field)} and series_${index}.parent = ${parentOf(each)}`,
      )
      .join(''),
    numbered_doc: numbers.reduce(
      (doc, _, index) => `replace(${doc}, chr(${index + 1}), number$${index}::text)`,
      'doc',
    ),
    numbered_columns: [...columns]
      .map(([field, { name }]) => `, ${indexOf(field) < 0 ? name : `number$${indexOf(field)}`}`)
      .join(''),
    drawn: numbers.map((_, index) => `, number$${index}::text`).join(''),
  };
}
