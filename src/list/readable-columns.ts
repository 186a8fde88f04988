import { DOCUMENT_SQL, documentsIn } from '../collection/document.js';
import { partOf } from '../collection/document-part.js';
import { type Resource, shardColumn } from '../collection/resource.js';
import { joined } from './comparison-sql.js';
import { type Access, type Condition, hidesFields, isOfColumns } from './condition.js';
import { documentsOf } from './order-parts.js';
import type { Source } from './record-source.js';

/** SQL that is true if conditions hold for a record of a source. */
type Holds = (conditions: readonly Condition[], source?: string) => string;

/** The columns of records from the source `granted`, and what precedes the conditions after that source. */
interface ReadableColumns {
  readonly columns: string;
  readonly joins: string;
}

/** The columns of the source `granted` that a caller may read, without values of fields that it may not read. */
export function readableColumns(granted: Source, access: Access, holds: Holds): ReadableColumns {
  if (!hidesFields(access)) return { columns: 'granted.*', joins: '' };
  const joins: string[] = [];
  const held = access.grants.map(({ conditions }, at) => {
    if (granted.engine === 'postgresql' || conditions.every(isOfColumns)) return holds(conditions);
    joins.push(heldJoin(granted.resource, `held_${at}`, holds(conditions, 'held')));
    return `held_${at}.id is not null`;
  });
  return { columns: columnsOf(granted, access, held), joins: joins.join('') };
}

/**
 * A join with the records for which a grant holds. On Citus no column depends on a query, but the records that are joined may.
 */
function heldJoin(resource: Resource, name: string, holding: string): string {
  const keys = ['id', shardColumn(resource) ?? []].flat();
  const columns = keys.map((key) => `held.${key}`).join(', ');
  const isRecord = keys.map((key) => `${name}.${key} = granted.${key}`).join(' and ');
  return ` left join (select ${columns} from ${resource.table} as held where ${holding}) as ${name} on ${isRecord}`;
}

/** `held`: SQL that is true if a grant holds. */
function columnsOf(granted: Source, { grants }: Access, held: readonly string[]): string {
  const showing = (field: string | undefined) =>
    grants.flatMap(({ fields }, at) =>
      !fields || (field !== undefined && fields.includes(field)) ? [at] : [],
    );
  const when = (places: readonly number[]) =>
    granted.joined(
      places.map((at) => held[at]!),
      'or',
    );
  const own = [...granted.resource.columns].map(([field, { name }]) => {
    const places = showing(field);
    if (places.length === grants.length) return `granted.${name}`;
    return `case when ${when(places)} then granted.${name} end as ${name}`;
  });
  const limited = grants.flatMap(({ fields }, at) => {
    if (!fields) return [];
    const names = `{${fields.map((field) => `"${field.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
    return [`case when ${held[at]} then ${granted.parameter(names, 'text::text[]')} else '{}' end`];
  });
  const fields = limited.join(' || ');
  // A function begins a statement of its own for each record. Citus has no other way.
  const part =
    granted.engine === 'citus'
      ? `plinth_readable_part(granted.doc, ${fields})`
      : `(
    select '{' || string_agg(to_json(key)::text || ':' || value::text, ',' order by place) || '}'
    from json_each(granted.doc::json) with ordinality as member (key, value, place)
    where place = 1 or key = any (${fields}) or key in ('created_at', 'updated_at', '_version')
  )`;
  const doc = `case when ${when(showing(undefined))} then granted.doc else ${part} end as doc`;
  return ['granted.id', 'granted.version', 'granted.updated_at', doc, ...own].join(', ');
}

/** The grants that decide which fields of a record a caller may read: one of all fields holds. */
const ALL_FIELDS = -1;

/**
 * The bits of the grants that decide which fields of a record a caller may read, as the column `part$`: no column of a collection has
 * such a name. `held`: SQL that is true if a grant holds. A declaration has at most 30 grants, so that an integer holds the bits.
 */
export function partSql({ grants }: Access, held: readonly string[]): string {
  const whole = held.filter((_, at) => !grants[at]!.fields);
  const bits = grants.flatMap(({ fields }, at) =>
    fields ? [`case when ${held[at]} then ${1 << at} else 0 end`] : [],
  );
  const limited = bits.join(' + ');
  const part =
    whole.length === 0 ? limited : `case when ${joined(whole, 'or')} then ${ALL_FIELDS} else ${limited} end`;
  return `${part} as part$`;
}

/** The whole documents of a page, each after its `part$`. */
export const partedDocuments = (order: string): string =>
  documentsOf(order, {
    document: `record.part$ || ':' || record.doc`,
    separator: DOCUMENT_SQL.separator,
  });

/** The documents in a text of `partedDocuments`, each with the fields that the caller may read, separated by commas. */
export function readableParts(text: string, { grants }: Access): string {
  const known = new Map<number, ReadonlySet<string>>();
  const fieldsOf = (part: number): ReadonlySet<string> => {
    const fields =
      known.get(part) ??
      new Set(grants.flatMap(({ fields = [] }, at) => ((part & (1 << at)) === 0 ? [] : fields)));
    known.set(part, fields);
    return fields;
  };
  const documents = documentsIn(text).map((each) => {
    const at = each.indexOf(':');
    const part = Number(each.slice(0, at));
    const doc = each.slice(at + 1);
    return part === ALL_FIELDS ? doc : partOf(doc, fieldsOf(part));
  });
  return documents.join(',');
}
