import { DOCUMENT_SQL } from '../collection/document.js';
import type { Resource } from '../collection/resource.js';
import { type Engine, POSTGRESQL } from '../database-url/engine.js';
import type { Settle } from '../db/batcher.js';
import { databaseErrorOf, STATEMENT_TIMEOUT } from '../db/database-errors.js';
import type { Db, Row, Value } from '../db/db.js';
import { padForImmediateWrite } from '../db/pool/prepared.js';
import { arrayLiteral } from '../db/statements.js';
import { partOf } from '../policy/column-mask.js';
import { joined, literal, type Parameter, symbolParameters } from './comparison-sql.js';
import { type Access, hasTerms, hides, hidesFields } from './condition.js';
import { accessibleSql, grantSql, recordsSql } from './condition-sql.js';
import type { NumberedPart, PageRequest } from './list-request.js';
import { isInParts } from './ordered-rows.js';
import { orderParts, TOO_LARGE } from './page-sql.js';
import type { SortKey } from './read-sort.js';
import { Source } from './record-source.js';

/** The most records of a caller's list that a shared statement counts, and the most bytes of a page that it reads. */
const MAX_MATCHES = 2000;
const MAX_BYTES = 262_144;

/**
 * Whether a page is one of all that a caller may read, if these records have to do with the caller and so likely are few, in the order
 * of an index by one field that each of them shows. Callers with equal grants share the statement of such pages, which has one plan for
 * all values: planning a page with rules takes longer than reading it.
 */
export function isOfCaller({ counts, sorts, keyset, selection }: PageRequest, engine: Engine): boolean {
  const { access } = selection;
  const [{ field }, ...more] = sorts as readonly [SortKey];
  if (!access?.isSelective || !engine.correlates || !counts || more.length > 0 || hasTerms(selection))
    return false;
  return !isInParts(keyset) && !hides(access, field);
}

/** The places of the first and the last record of a page, and the values of its caller. */
export const callersArgs = ({ page, limit }: NumberedPart, access: Access): string[] => {
  const before = Math.min((page - 1) * limit, MAX_MATCHES);
  return [String(before + 1), String(before + limit), ...valuesOf(access)];
};

/** The values of a caller, those at several places once. */
const valuesOf = ({ values }: Access): string[] => [...new Set(values.flatMap((each) => each ?? []))];

/** The parts of `page_of_callers`, which are equal for accesses of one shape. */
export function callersParts(resource: Resource, { keyset, selection }: PageRequest) {
  const given = valuesOf(selection.access!);
  // No value of the declaration begins with U+0000.
  const values = selection.access!.values.map((each) => (each === null ? null : `\0${given.indexOf(each)}`));
  const access = { ...selection.access!, values };
  const parameter: Parameter = (value, type = 'text') =>
    value.startsWith('\0') ? `given.value_${value.slice(1)}::${type}` : literal(value, type);
  // The documents are whole: the process leaves fields out, which takes PostgreSQL longer than to find the page.
  const whole = { ...selection, access: { ...access, grants: [] } };
  const order = orderParts(keyset);
  return {
    ...order,
    source: accessibleSql(resource, 'record', undefined, parameter, POSTGRESQL),
    records: recordsSql(resource, whole, parameter, POSTGRESQL),
    part: `case when octet_length(record.doc) <= ${MAX_BYTES} then ${heldSql(resource, access, parameter)} || record.doc end`,
    most: String(MAX_MATCHES + 1),
    documents: `case when sum(octet_length(record.doc)) > ${MAX_BYTES} then '${TOO_LARGE}'
      else string_agg(record.part$, ${DOCUMENT_SQL.separator} order by ${order.order})
    end`,
    given: ['$1::integer[], $2::integer[]', ...given.map((_, at) => `$${at + 3}::text[]`)].join(', '),
    columns: ['first', 'last', ...given.map((_, at) => `value_${at}`)].join(', '),
  };
}

/**
 * The text before a document: the bits of the grants that hold for a record, or nothing if one of all fields does. A declaration has
 * at most 30 grants, so that an integer holds the bits.
 */
function heldSql(resource: Resource, access: Access, parameter: Parameter): string {
  if (!hidesFields(access)) return "''";
  const symbols = symbolParameters(access.values, parameter);
  const records = new Source(resource, parameter, POSTGRESQL, { isStored: true, symbols });
  const held = access.grants.map(({ conditions }) => grantSql(records, conditions));
  const whole = held.filter((_, at) => !access.grants[at]!.fields);
  const limited = access.grants.flatMap(({ fields }, at) => (fields ? [at] : []));
  const bits = limited.map((at) => `case when ${held[at]} then ${1 << at} else 0 end`);
  // One of the grants holds for each record of a page: a single one with some fields does if none with all fields does.
  const sum = limited.length === 1 ? `'${1 << limited[0]!}'` : `(${bits.join(' + ')})`;
  return `case when ${joined(whole, 'or')} then '' else ${sum} || ':' end`;
}

/**
 * Reads pages of callers by one statement, and settles each as soon as its row arrives, so that the process responds while the database
 * reads the next ones. Undefined: the page needs a statement of its own, since it is large, or all that are left do, since the
 * statement took too long, perhaps for the records of one caller.
 */
export async function readCallersPages(
  db: Db,
  text: string,
  pages: readonly { readonly args: readonly Value[] }[],
  settle: Settle<Row | undefined>,
): Promise<readonly undefined[]> {
  const args = pages[0]!.args.map((_, at) => arrayLiteral(pages.map((page) => page.args[at]!)));
  try {
    await db.eachRow(text, args.with(-1, padForImmediateWrite(args.at(-1)!)), (row) => {
      const isRead = Number(row.total) <= MAX_MATCHES && row.docs !== TOO_LARGE;
      settle(Number(row.place) - 1, isRead ? row : undefined);
    });
  } catch (error) {
    if (databaseErrorOf(error)?.code !== STATEMENT_TIMEOUT) throw error;
  }
  return [];
}

/** The documents of a page of a caller, without the bits of grants that precede them, and with the fields of these grants. */
export function readableParts(documents: readonly string[], { grants }: Access): string[] {
  const known = new Map<string, ReadonlySet<string>>();
  const fieldsOf = (held: string): ReadonlySet<string> => {
    const fields =
      known.get(held) ??
      new Set(grants.flatMap(({ fields = [] }, at) => ((Number(held) & (1 << at)) === 0 ? [] : fields)));
    known.set(held, fields);
    return fields;
  };
  return documents.map((each) => {
    if (each.startsWith('{')) return each;
    const at = each.indexOf(':');
    return partOf(each.slice(at + 1), fieldsOf(each.slice(0, at)));
  });
}
