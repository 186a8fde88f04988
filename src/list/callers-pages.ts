import { DOCUMENT_SQL } from '../collection/document.js';
import type { Resource } from '../collection/resource.js';
import { POSTGRESQL } from '../database-url/engine.js';
import { createBatcher } from '../db/batcher.js';
import { databaseErrorOf, STATEMENT_TIMEOUT } from '../db/database-errors.js';
import type { Db, Row } from '../db/db.js';
import { padForImmediateWrite } from '../db/pool/prepared.js';
import { arrayLiteral, fill } from '../db/statements.js';
import { partOf } from '../policy/column-mask.js';
import type { Sharing } from '../telemetry/instruments.js';
import { nameStatement } from '../telemetry/wait-tracking.js';
import { joined, literal, type Parameter, symbolParameters } from './comparison-sql.js';
import { type Access, hasTerms, hides, hidesFields, OWN_COLUMNS } from './condition.js';
import { accessibleSql, grantSql, recordsSql } from './condition-sql.js';
import { type Keyset, keysetOf } from './keyset.js';
import type { NumberedPart, PageRequest } from './list-request.js';
import { isInParts } from './ordered-rows.js';
import { orderParts, TOO_LARGE } from './page-sql.js';
import { Source } from './record-source.js';

/** The most records of a caller's list that a shared statement counts, and the most bytes of a page that it reads. */
const MAX_MATCHES = 2000;
const MAX_BYTES = 262_144;
/** The most statements of one collection: each combination of grants and each order has its own. */
const MAX_TEXTS = 100;

/** While two statements are in flight, the pages that arrive wait for the next one, which reads up to 16. */
const PAGES = { max: 16, inFlight: 2, waiting: 2000, keyOf: (args: readonly string[]) => args.join('\0') };

/** Reads pages by their values. Undefined: the page needs a statement of its own. */
type ReadPage = (args: readonly string[]) => Promise<Row | undefined>;

/** A statement of pages in one order, and the values that a caller has in it after the bounds of the page. */
interface Statement {
  readonly read: ReadPage;
  readonly values: readonly string[];
}

/**
 * Returns the function that reads pages of all that a caller may read, if these records have to do with the caller and so likely are
 * few. Callers with equal grants share a statement, which has one plan for all values: planning a page with rules takes longer than
 * reading it. `template`: `page_of_callers`. Undefined: the page needs a statement of its own, for example since its list has further conditions.
 */
export function openCallersPages(
  db: Db,
  resource: Resource,
  template: string,
  sharing: Sharing,
): (list: PageRequest) => Promise<Row | undefined> | undefined {
  const statements = new WeakMap<Access, Map<string, Statement | undefined>>();
  const readers = new Map<string, ReadPage>();
  /** Callers with more, or larger, records than a shared statement reads. */
  const large = new WeakSet<Access>();

  /** Undefined unless the order is of an index by one field that each record of the caller shows. */
  function statementOf(list: PageRequest, access: Access): Statement | undefined {
    const keyset = keysetOf(resource, list.sorts, undefined);
    const { field } = list.sorts[0]!;
    if (isInParts(keyset) || (hides(access, field) && !OWN_COLUMNS.has(field))) return undefined;
    const { text, values } = composed(template, resource, keyset, list, access);
    const read = readerOf(text);
    return read && { read, values };
  }

  function readerOf(text: string): ReadPage | undefined {
    const known = readers.get(text);
    if (known ?? readers.size >= MAX_TEXTS) return known;
    nameStatement(text, `page_of_callers ${resource.name}`);
    const reader = createBatcher({ ...PAGES, sharing }, (pages: readonly (readonly string[])[]) =>
      readAll(db, text, pages),
    );
    readers.set(text, reader);
    return reader;
  }

  return (list) => {
    const { part, counts, sorts, selection } = list;
    const { access } = selection;
    if (!access?.isSelective || part.kind !== 'numbered' || large.has(access)) return undefined;
    if (!db.engine.correlates || !counts || sorts.length > 1 || hasTerms(selection)) return undefined;
    const known = statements.get(access) ?? new Map<string, Statement | undefined>();
    statements.set(access, known);
    const key = `${sorts[0]!.direction} ${sorts[0]!.field}`;
    if (!known.has(key)) known.set(key, statementOf(list, access));
    const statement = known.get(key);
    return statement?.read([...bounds(part), ...statement.values]).then((row) => {
      const isRead = row && Number(row.total) <= MAX_MATCHES && row.docs !== TOO_LARGE;
      if (!isRead) large.add(access);
      return isRead ? row : undefined;
    });
  };
}

/** The places of the first and the last record of a page. */
const bounds = ({ page, limit }: NumberedPart): string[] => {
  const before = Math.min((page - 1) * limit, MAX_MATCHES);
  return [String(before + 1), String(before + limit)];
};

function composed(
  template: string,
  resource: Resource,
  keyset: Keyset,
  list: PageRequest,
  access: Access,
): { readonly text: string; readonly values: readonly string[] } {
  const values = [...new Set(access.values.flatMap((value) => value ?? []))];
  // A value of the declaration that equals one of the caller's is read as such.
  const parameter: Parameter = (value, type = 'text') =>
    values.includes(value) ? `given.value_${values.indexOf(value)}::${type}` : literal(value, type);
  // The documents are whole: the process leaves fields out, which takes PostgreSQL longer than to find the page.
  const whole = { ...list.selection, access: { ...access, grants: [] } };
  const order = orderParts(keyset);
  const text = fill(template, {
    ...order,
    source: accessibleSql(resource, 'record', undefined, parameter, POSTGRESQL),
    records: recordsSql(resource, whole, parameter, POSTGRESQL),
    part: `case when octet_length(record.doc) <= ${MAX_BYTES} then ${heldSql(resource, access, parameter)} || record.doc end`,
    most: String(MAX_MATCHES + 1),
    documents: `case when sum(octet_length(record.doc)) > ${MAX_BYTES} then '${TOO_LARGE}'
      else string_agg(record.part$, ${DOCUMENT_SQL.separator} order by ${order.order})
    end`,
    given: ['$1::integer[], $2::integer[]', ...values.map((_, at) => `$${at + 3}::text[]`)].join(', '),
    columns: ['first', 'last', ...values.map((_, at) => `value_${at}`)].join(', '),
  });
  return { text, values };
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

/** Reads pages by one statement. None has a row if the statement takes too long, perhaps for the records of one caller. */
async function readAll(
  db: Db,
  text: string,
  pages: readonly (readonly string[])[],
): Promise<readonly (Row | undefined)[]> {
  const args = pages[0]!.map((_, at) => arrayLiteral(pages.map((page) => page[at]!)));
  try {
    return await db.run(text, args.with(-1, padForImmediateWrite(args.at(-1)!)));
  } catch (error) {
    if (databaseErrorOf(error)?.code !== STATEMENT_TIMEOUT) throw error;
    return pages.map(() => undefined);
  }
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
