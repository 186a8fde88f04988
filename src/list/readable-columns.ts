import { DOCUMENT_SQL, documentsIn } from '../collection/document.js';
import { partOf } from '../collection/document-part.js';
import type { Resource } from '../collection/resource.js';
import { joined, type Parameter } from './comparison-sql.js';
import type { Access } from './condition.js';
import { documentsOf } from './order-parts.js';

/** The columns of records, without values of fields that a caller may not read. `held`: SQL that is true if a grant holds. */
export function readableColumns(
  { columns }: Resource,
  { grants }: Access,
  held: readonly string[],
  parameter: Parameter,
): string {
  const showing = (field: string | undefined) =>
    grants.flatMap(({ fields }, at) =>
      !fields || (field !== undefined && fields.includes(field)) ? [at] : [],
    );
  const when = (places: readonly number[]) =>
    joined(
      places.map((at) => held[at]!),
      'or',
    );
  const own = [...columns].map(([field, { name }]) => {
    const places = showing(field);
    if (places.length === grants.length) return `granted.${name}`;
    return `case when ${when(places)} then granted.${name} end as ${name}`;
  });
  const limited = grants.flatMap(({ fields }, at) => {
    if (!fields) return [];
    const names = `array(select json_array_elements_text(${parameter(JSON.stringify(fields))}::json))`;
    return [`case when ${held[at]} then ${names} else '{}' end`];
  });
  // Not a function, which would begin a statement of its own for each record.
  const doc = `case when ${when(showing(undefined))} then granted.doc else (
    select '{' || string_agg(to_json(key)::text || ':' || value::text, ',' order by place) || '}'
    from json_each(granted.doc::json) with ordinality as member (key, value, place)
    where place = 1 or key = any (${limited.join(' || ')}) or key in ('created_at', 'updated_at', '_version')
  ) end as doc`;
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
