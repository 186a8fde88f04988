import { DOCUMENT_SQL, documentsIn, SEPARATOR } from '../collection/document.js';
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
import { joined, type Parameter, symbolParameters } from './comparison-sql.js';
import { type Access, hasTerms, hides, hidesFields, OWN_COLUMNS } from './condition.js';
import { accessibleSql, grantSql, recordsSql } from './condition-sql.js';
import { type Keyset, keysetOf } from './keyset.js';
import type { NumberedPart, PageRequest } from './list-request.js';
import { isInParts } from './ordered-rows.js';
import { orderParts } from './page-sql.js';
import { Source } from './record-source.js';

/** The most records of a caller's list that a shared statement counts, and the most bytes of a page that it reads. */
const MAX_MATCHES = 2000;
const MAX_BYTES = 262_144;
/** The most statements of one collection: each combination of grants and each order has its own. */
const MAX_TEXTS = 100;

/** While two statements are in flight, the pages that arrive wait for the next one, which reads up to 16. */
const PAGES = { max: 16, inFlight: 2, waiting: 2000, keyOf: (args: readonly string[]) => args.join('\0') };

/** The part of a document that a caller may read if one of its grants has all fields. */
const WHOLE = -1;

/** A statement of pages in one order, and the values that a caller has in it after the limit and the offset of the page. */
interface Statement {
  readonly text: string;
  readonly values: readonly string[];
}

/** Reads pages by their values. Undefined: the page needs a statement of its own. */
type ReadPage = (args: readonly string[]) => Promise<Row | undefined>;

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
  const statements = new WeakMap<Access, Map<string, Statement>>();
  const readers = new Map<string, ReadPage>();
  /** Callers with more, or larger, records than a shared statement reads. */
  const large = new WeakSet<Access>();

  function statementOf(list: PageRequest, access: Access): Statement {
    const known = statements.get(access) ?? new Map<string, Statement>();
    statements.set(access, known);
    const [{ field, direction }] = list.sorts as [PageRequest['sorts'][number]];
    const key = `${direction} ${field}`;
    const statement =
      known.get(key) ?? composed(template, resource, keysetOf(resource, list.sorts, undefined), list, access);
    known.set(key, statement);
    return statement;
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
    const { access } = list.selection;
    const { part } = list;
    if (!access?.isSelective || part.kind !== 'numbered' || large.has(access)) return undefined;
    if (!db.engine.correlates || !isShared(resource, list, access)) return undefined;
    const { text, values } = statementOf(list, access);
    return readerOf(text)?.([...bounds(part), ...values]).then((row) => {
      if (row && Number(row.total) <= MAX_MATCHES && row.docs !== null)
        return { ...row, docs: readableParts(String(row.docs), access) };
      large.add(access);
      return undefined;
    });
  };
}

const bounds = ({ page, limit }: NumberedPart): string[] => [
  String(limit),
  String(Math.min((page - 1) * limit, MAX_MATCHES)),
];

/** Whether a page has a total and all records of the caller, in the order of an index by one field that each of them shows. */
const isShared = (resource: Resource, list: PageRequest, access: Access): boolean => {
  const { counts, sorts, selection } = list;
  const isReadable = OWN_COLUMNS.has(sorts[0]!.field) || !hides(access, sorts[0]!.field);
  return (
    counts &&
    sorts.length === 1 &&
    isReadable &&
    !hasTerms(selection) &&
    !isInParts(keysetOf(resource, sorts, access))
  );
};

function composed(
  template: string,
  resource: Resource,
  keyset: Keyset,
  list: PageRequest,
  access: Access,
): Statement {
  const values = ['limit', 'offset'];
  const valueAt = (place: number) => `given.value_${place}`;
  const parameter: Parameter = (value, type = 'text') => `${valueAt(values.push(value))}::${type}`;
  // The documents are whole: the process leaves fields out, which takes PostgreSQL longer than to find the page.
  const whole = { ...list.selection, access: { ...access, grants: [] } };
  const order = orderParts(keyset);
  const text = fill(template, {
    ...order,
    source: accessibleSql(resource, 'record', undefined, parameter, POSTGRESQL),
    records: recordsSql(resource, whole, parameter, POSTGRESQL),
    held: heldSql(resource, access, parameter),
    most: String(MAX_MATCHES + 1),
    limit: `${valueAt(1)}::bigint`,
    offset: `${valueAt(2)}::bigint`,
    documents: `case when coalesce(sum(octet_length(record.doc)), 0) <= ${MAX_BYTES} then coalesce(
      string_agg(record.held$ || ':' || record.doc, ${DOCUMENT_SQL.separator} order by ${order.order})
        filter (where octet_length(record.doc) <= ${MAX_BYTES}), '')
    end`,
    given: values.map((_, at) => `$${at + 1}::text[]`).join(', '),
    columns: values.map((_, at) => `value_${at + 1}`).join(', '),
  });
  return { text, values: values.slice(2) };
}

/**
 * The bits of the grants that hold for a record, or WHOLE if one of all fields does. A declaration has at most 30 grants, so that an
 * integer holds the bits.
 */
function heldSql(resource: Resource, access: Access, parameter: Parameter): string {
  if (!hidesFields(access)) return String(WHOLE);
  const symbols = symbolParameters(access.values, parameter);
  const records = new Source(resource, parameter, POSTGRESQL, { isStored: true, symbols });
  const held = access.grants.map(({ conditions }) => grantSql(records, conditions));
  const whole = held.filter((_, at) => !access.grants[at]!.fields);
  const limited = access.grants.flatMap(({ fields }, at) => (fields ? [at] : []));
  // One of the grants holds for each record of a page: a single one with some fields does if none with all fields does.
  const isKnown = limited.length === 1;
  const bits = limited.map((at) =>
    isKnown ? String(1 << at) : `case when ${held[at]} then ${1 << at} else 0 end`,
  );
  return `case when ${joined(whole, 'or')} then ${WHOLE} else ${bits.join(' + ')} end`;
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

/** The documents in a text, each after the bits of its grants, with the fields of these grants. */
function readableParts(text: string, { grants }: Access): string {
  const known = new Map<number, ReadonlySet<string>>();
  const fieldsOf = (held: number): ReadonlySet<string> => {
    const fields =
      known.get(held) ??
      new Set(grants.flatMap(({ fields = [] }, at) => ((held & (1 << at)) === 0 ? [] : fields)));
    known.set(held, fields);
    return fields;
  };
  const documents = documentsIn(text).map((each) => {
    const at = each.indexOf(':');
    const held = Number(each.slice(0, at));
    const doc = each.slice(at + 1);
    return held === WHOLE ? doc : partOf(doc, fieldsOf(held));
  });
  return documents.join(SEPARATOR);
}
