import { assignmentSql, type Column } from '../collection/column.js';
import { DOCUMENT_SQL } from '../collection/document.js';
import { definitionsOf, type Reference, type Resource } from '../collection/resource.js';
import type { Engine } from '../database-url/engine.js';
import { joined, literal, type SymbolSql } from '../list/comparison-sql.js';
import { grantSql } from '../list/condition-sql.js';
import { Source } from '../list/record-source.js';
import { nameStatement } from '../telemetry/wait-tracking.js';
import type { Grant, Policy, Verb } from './policy.js';

/** Where a statement has the grants and the values of its callers. */
interface Callers {
  /** The name of the source of the rows, with a dot. */
  readonly rows: string;
  /** Precedes the names of its columns. */
  readonly prefix?: string;
  /** The place of the parameter with the first values; absent: the statement is none of Citus. */
  readonly first?: number;
}

/**
 * The statements that find out which grants hold for records, for several callers at once: a row of the parameters is a record
 * with a caller. `grants$` are the bits of the grants that the caller may use, `value$0` and so on the values of its symbols: no
 * column of a collection has such a name. On Citus, conditions on other shards do not depend on rows: a statement is for one caller,
 * and the records are read before their conditions are examined.
 */
export class PolicySql {
  readonly resource: Resource;
  readonly #texts = new Map<string, string>();

  constructor(
    readonly policy: Policy,
    readonly engine: Engine,
  ) {
    this.resource = policy.resource;
  }

  /**
   * Reads records for which a grant holds: $1 ids, $2 to $4 the grants to read, update and delete, $5... values. Before each document are
   * the place of the row, the version, and the bits of the grants that hold: of those to read, what decides about the fields.
   */
  get held(): string {
    return this.#text('held', () => {
      const callers = { rows: 'given.', first: 5 };
      const masks = {
        reading: this.deciding('record', callers, 'read$'),
        updating: this.#mask('update', 'record', callers, 'update$'),
        deleting: this.#mask('delete', 'record', callers, 'delete$'),
      };
      const columns = Object.entries(masks).map(([name, mask]) => `${mask} as ${name}`);
      const before = ['place', 'version', ...Object.keys(masks)]
        .map((name) => `found.${name}`)
        .join(" || ':' || ");
      return `${this.#recordsFirst}select string_agg(${before} || ':' || ${DOCUMENT_SQL.document}, ${DOCUMENT_SQL.separator}) as records
from (
  select given.place, record.id, record.version, record.doc, ${columns.join(', ')}
  from unnest($1::uuid[], $2::integer[], $3::integer[], $4::integer[]${this.#unnested(5)}) with ordinality
    as given (id, read$, update$, delete$${this.#names}, place)
  join ${this.#records} on record.id = given.id
  offset 0
) as found
where found.reading <> 0 or found.updating <> 0 or found.deleting <> 0`;
    });
  }

  /**
   * Reads the bits of the grants that hold for records of one caller as they are to be written, and of those that decide which fields
   * of a new one its creator may read: $1 rows as JSON, with `callerColumns`, $2... values.
   */
  examined(verb: 'create' | 'update'): string {
    return this.#text(`examine_${verb}`, () => {
      const callers = { ...CALLERS, first: 2 };
      return `select record.place$::integer as place, ${this.#mask(verb, 'record', callers, 'grants$')} as mask,
  ${verb === 'create' ? this.deciding('record', callers, 'reading$') : '0'} as readable
from ${rowsOf(this, []).source}`;
    });
  }

  /**
   * Deletes a record that its caller may read and delete: $1 id, $2 $3 $4 preconditions, $5 actor, $6 and $7 the grants to read and to
   * delete, $8... values.
   */
  get removal(): string {
    return this.#text('remove', () => {
      const values = this.policy.symbols.map((_, at) => [`value$${at}`, `$${at + 8}::text`] as const);
      const given = [['reading$', '$6::integer'], ['grants$', '$7::integer'], ...values] as const;
      return `delete from ${this.resource.table} as record
using (values (${given.map(([, value]) => value).join(', ')})) as given (${given.map(([name]) => name).join(', ')}),
  set_config('plinth.actor', $5, true) as actor$
where record.id = $1
  and ${this.anyOf('read', ['record'], { rows: 'given.' }, 'reading$')}
  and ${this.anyOf('delete', ['record'], { rows: 'given.' }, 'grants$')}
  and record.version = any (coalesce($2::integer[], array[record.version]))
  and record.version <> all (coalesce($3::integer[], '{}'))
  and date_trunc('second', record.updated_at) <= coalesce($4::timestamptz, 'infinity')
returning record.id`;
    });
  }

  /** On Citus, begins a statement: it reads the records of $1. */
  get #recordsFirst(): string {
    if (this.engine.correlates) return '';
    const own = [...this.resource.columns.values()].map(({ name }) => name);
    const columns = ['id', 'version', 'updated_at', 'doc', ...own].map((name) => `record.${name}`);
    return `with record as materialized (
  select ${columns.join(', ')} from ${this.resource.table} as record where record.id = any ($1::uuid[])
) `;
  }

  get #records(): string {
    return this.engine.correlates ? `${this.resource.table} as record` : 'record';
  }

  #text(name: string, make: () => string): string {
    const known = this.#texts.get(name);
    if (known !== undefined) return known;
    const text = make();
    nameStatement(text, `access_${name} ${this.resource.name}`);
    this.#texts.set(name, text);
    return text;
  }

  #granted(verb: Verb): readonly Grant[] {
    return this.policy.grants.filter(({ verbs }) => verbs.has(verb));
  }

  /** Whether a grant holds for each of some sources of one record. */
  #usable(grant: Grant, records: readonly string[], callers: Callers, bits: string): string {
    const held = records.map((name) => this.#held(grant, name, callers));
    return `(${callers.rows}${callers.prefix ?? ''}${bits} & ${1 << grant.place} <> 0 and ${joined(held, 'and')})`;
  }

  /** SQL that is true if the conditions of a grant hold for a record of a source. */
  #held({ conditions }: Grant, records: string, callers: Callers): string {
    const { resource, engine } = this;
    const symbols = valuesOf(callers, engine);
    return grantSql(new Source(resource, literal, engine, { name: records, symbols }), conditions);
  }

  /** SQL that is true if any grant holds for each of some sources of one record: grants without conditions come first. */
  anyOf(verb: Verb, records: readonly string[], callers: Callers, bits: string): string {
    const granted = this.#granted(verb).toSorted((a, b) => a.conditions.length - b.conditions.length);
    return joined(
      granted.map((grant) => this.#usable(grant, records, callers, bits)),
      'or',
    );
  }

  /** The SQL of the mask to read, for which no grant is examined after one of all fields. */
  deciding(records: string, callers: Callers, bits: string): string {
    const whole = this.#granted('read')
      .filter(({ fields }) => !fields)
      .map((grant) => `when ${this.#usable(grant, [records], callers, bits)} then ${1 << grant.place}`);
    const limited = this.#mask('read', records, callers, bits, ({ fields }) => fields !== undefined);
    return whole.length === 0 ? limited : `case ${whole.join(' ')} else ${limited} end`;
  }

  /** The sum of the bits of the grants that hold. */
  #mask(
    verb: Verb,
    records: string,
    callers: Callers,
    bits: string,
    counts: (grant: Grant) => boolean = () => true,
  ): string {
    const granted = this.#granted(verb).filter(counts);
    const terms = granted.map(
      (grant) =>
        `case when ${this.#usable(grant, [records], callers, bits)} then ${1 << grant.place} else 0 end`,
    );
    return terms.length === 0 ? '0' : `(${terms.join(' + ')})`;
  }

  get #names(): string {
    return this.policy.symbols.map((_, at) => `, value$${at}`).join('');
  }

  #unnested(first: number): string {
    return this.policy.symbols.map((_, at) => `, $${first + at}::text[]`).join('');
  }
}

/** The values of symbols are columns with what callers have, on Citus parameters with what its one caller has. */
const valuesOf =
  ({ rows, prefix = '', first = 0 }: Callers, engine: Engine): SymbolSql =>
  ({ place }) =>
  (type) =>
    engine.correlates
      ? `${rows}${prefix}value$${place}::${type}`
      : `(($${first + place}::text[])[1])::${type}`;

/** A reference of the written records, and the statements of the collection that it leads to. */
interface LimitedField extends Pick<Reference, 'field' | 'isList'> {
  readonly sql: PolicySql;
}

/** The names of the columns with the grants and the values of the callers: for the collection, and for each reference. */
export const callerColumns = (own: PolicySql, references: readonly LimitedField[]): string[] =>
  [own, ...references.map(({ sql }) => sql)].flatMap(({ policy }, at) =>
    ['grants$', 'reading$', ...policy.symbols.map((_, symbol) => `value$${symbol}`)].map(
      (name) => `${prefixOf(at - 1)}${name}`,
    ),
  );

const prefixOf = (reference: number): string => (reference < 0 ? '' : `to${reference}$`);

/**
 * The statement that writes records that refer to records that their callers may read: $1 rows as JSON, with `callerColumns`, $2 actors.
 * The statement creates records for which a grant holds, or replaces records for which a grant holds before and after the change.
 * References that a record had before may remain. A row has the version that the record gets. The statement returns the place of
 * each record that it has written, and the bits of the grants that decide which of its fields its caller may read.
 */
export function writeSql(
  own: PolicySql,
  references: readonly LimitedField[],
  verb: 'create' | 'update',
): string {
  const { resource } = own;
  const { source, columns } = rowsOf(own, references);
  const isNew = verb === 'create';
  const before = isNew ? undefined : 'current';
  const conditions = [
    own.anyOf(verb, before ? [before, 'record'] : ['record'], CALLERS, 'grants$'),
    ...references.map((reference, at) => referenceSql(resource, reference, at, before)),
  ];
  const isSame = 'current.id = record.id and current.version = record.version - 1';
  const text = `with permitted as materialized (
  select record.*, ${own.deciding('record', CALLERS, 'reading$')} as readable$
  from ${source}${isNew ? '' : `\n  join ${resource.table} as current on ${isSame}`}
  where ${conditions.join('\n    and ')}
  order by record.id
), written as (
  ${isNew ? insertSql(resource, columns) : updateSql(resource, columns, isSame)}
)
select permitted.place$::integer as key, permitted.readable$ as readable from written join permitted using (id)`;
  nameStatement(text, `${isNew ? 'create' : 'replace'}_with_rules ${resource.name}`);
  return text;
}

function insertSql(resource: Resource, columns: readonly Column[]): string {
  const inserted = columns.map(
    ({ name, type }) => `, ${type === 'jsonb' ? `jsonb_strip_nulls(${name})` : name}`,
  );
  const unique = resource.unique.flatMap(({ fields }) => fields.map((field) => columnOf(resource, field)));
  return `insert into ${resource.table} (id, version, updated_at, doc${columns.map(({ name }) => `, ${name}`).join('')})
  select id, version, updated_at, doc${inserted.join('')} from permitted, ${ACTING}
  order by ${[...unique, 'id'].join(', ')}
  on conflict do nothing
  returning id`;
}

function updateSql({ table }: Resource, columns: readonly Column[], isSame: string): string {
  const assigned = columns.map((column) => `, ${assignmentSql(column, `record.${column.name}`)}`);
  return `update ${table} as current
  set version = record.version, updated_at = record.updated_at, doc = record.doc${assigned.join('')}
  from permitted as record, ${ACTING}
  where ${isSame}
  returning current.id`;
}

const CALLERS = { rows: 'record.' };
const ACTING = "set_config('plinth.actor', $2, true) as actor$";

const columnOf = ({ columns }: Resource, field: string): string => columns.get(field)!.name;

/** The rows of the first parameter as `record`, and the own columns of the collection. */
function rowsOf(own: PolicySql, references: readonly LimitedField[]) {
  const { resource } = own;
  const given = [
    ...definitionsOf(resource),
    ...callerColumns(own, references).map(
      (name) => `${name} ${name.includes('value$') ? 'text' : 'integer'}`,
    ),
  ];
  const names = given.map((each) => each.split(' ', 1)[0]);
  const source = `rows from (json_to_recordset($1::text::json) as (${given.join(', ')})) with ordinality
    as record (${names.join(', ')}, place$)`;
  return { source, columns: [...resource.columns.values()] };
}

/** SQL that is true if a record refers to records that its caller may read. Those of `before`, if it is given, may remain. */
function referenceSql(
  resource: Resource,
  { field, isList, sql }: LimitedField,
  at: number,
  before?: string,
): string {
  const callers = { ...CALLERS, prefix: prefixOf(at) };
  const isReadable = sql.anyOf('read', ['target'], callers, 'reading$');
  const found = (id: string) =>
    `exists (select from ${sql.resource.table} as target where target.id = ${id} and ${isReadable})`;
  const column = columnOf(resource, field);
  const own = `record.${column}`;
  if (isList) {
    const given = before ? `given$.id <> all (coalesce(${before}.${column}, '{}')) and ` : '';
    return `not exists (select from unnest(${own}) as given$ (id) where ${given}not ${found('given$.id')})`;
  }
  const same = before ? `${own} = ${before}.${column} or ` : '';
  return `(${own} is null or ${same}${found(own)})`;
}
