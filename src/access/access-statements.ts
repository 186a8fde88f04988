import { DOCUMENT_SQL, documentSql } from '../collection/document.js';
import { definitionsOf, type Resource } from '../collection/resource.js';
import type { Engine } from '../database-url/engine.js';
import { joined, type Parameter, type SymbolSql } from '../list/comparison-sql.js';
import { grantSql } from '../list/condition-sql.js';
import { Source } from '../list/record-source.js';
import { nameStatement } from '../telemetry/wait-tracking.js';
import type { Grant, Rules, Verb } from './rules.js';

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
export class AccessStatements {
  readonly #texts = new Map<string, string>();

  constructor(
    readonly resource: Resource,
    readonly rules: Rules,
    readonly engine: Engine,
  ) {}

  /**
   * Reads the whole documents of the records that callers may read: $1 ids, $2 grants, $3... values. The place of the row, and the
   * bits of the grants that decide which fields the caller may read, precede each.
   */
  get read(): string {
    return this.#text(
      'read',
      () =>
        `${this.#recordsFirst(['doc'])}select string_agg(found.place || ':' || found.mask || ':' || ${DOCUMENT_SQL.document}, ${DOCUMENT_SQL.separator}) as records
from (
  select given.place, record.id, record.doc, ${this.deciding('record', { rows: 'given.', first: 3 }, 'grants$')} as mask
  from unnest($1::uuid[], $2::integer[]${this.#unnested(3)}) with ordinality as given (id, grants$${this.#names}, place)
  join ${this.#records} on record.id = given.id
  offset 0
) as found
where found.mask <> 0`,
    );
  }

  /** Reads the bits of the grants that decide which fields callers may read of records: $1 ids, $2 grants, $3... values. */
  get readable(): string {
    return this.#text(
      'readable',
      () => `${this.#recordsFirst()}select given.place::integer as place, ${this.deciding('record', { rows: 'given.', first: 3 }, 'grants$')} as mask
from unnest($1::uuid[], $2::integer[]${this.#unnested(3)}) with ordinality as given (id, grants$${this.#names}, place)
join ${this.#records} on record.id = given.id`,
    );
  }

  /**
   * Reads the whole documents and the versions of records, and the bits of the grants that hold: $1 ids, $2 to $4 the grants to read,
   * update and delete, $5... values.
   */
  get masks(): string {
    return this.#text('masks', () => {
      const masks = (['read', 'update', 'delete'] as const).map(
        (verb) => `${this.#mask(verb, 'record', { rows: 'given.', first: 5 }, `${verb}$`)} as ${verb}`,
      );
      return `${this.#recordsFirst(['doc'])}select given.place::integer as place, record.version, ${documentSql('record')} as doc, ${masks.join(', ')}
from unnest($1::uuid[], $2::integer[], $3::integer[], $4::integer[]${this.#unnested(5)}) with ordinality
  as given (id, read$, update$, delete$${this.#names}, place)
join ${this.#records} on record.id = given.id`;
    });
  }

  /**
   * Reads the bits of the grants that hold for records as they are to be written, and of those that decide which fields of a new
   * one its creator may read: $1 rows as JSON, $2 grants, $3 grants to read, $4... values.
   */
  candidates(verb: 'create' | 'update'): string {
    return this.#text(`candidates_${verb}`, () => {
      const columns = definitionsOf(this.resource);
      const names = columns.map((each) => each.split(' ', 1)[0]);
      const creating = { rows: 'record.', first: 4 };
      return `select record.place$::integer as place, ${this.#mask(verb, 'record', creating, 'grants$')} as mask,
  ${verb === 'create' ? this.deciding('record', creating, 'reading$') : '0'} as readable
from rows from (json_to_recordset($1::text::json) as (${columns.join(', ')}), unnest($2::integer[], $3::integer[]${this.#unnested(4)}))
  with ordinality as record (${names.join(', ')}, grants$, reading$${this.#names}, place$)`;
    });
  }

  /** On Citus, begins a statement: it reads the records of $1, with `more` columns besides those of conditions. */
  #recordsFirst(more: readonly string[] = []): string {
    if (this.engine.correlates) return '';
    const own = [...this.resource.columns.values()].map(({ name }) => name);
    const columns = ['id', 'version', 'updated_at', ...own, ...more].map((name) => `record.${name}`);
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
    return this.rules.grants.filter(({ verbs }) => verbs.has(verb));
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
    return this.rules.symbols.map((_, at) => `, value$${at}`).join('');
  }

  #unnested(first: number): string {
    return this.rules.symbols.map((_, at) => `, $${first + at}::text[]`).join('');
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

/** A value of the declaration. */
const literal: Parameter = (value, type = 'text') => `'${value.replaceAll("'", "''")}'::${type}`;
