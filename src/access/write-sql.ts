import { assignmentSql } from '../collection/column.js';
import { definitionsOf, type Resource } from '../collection/resource.js';
import { nameStatement } from '../telemetry/wait-tracking.js';
import type { AccessStatements } from './access-statements.js';

/** A reference of the written records, and the statements of the collection that it leads to. */
export interface RuledReference {
  readonly field: string;
  readonly isList: boolean;
  readonly statements: AccessStatements;
}

/** The names of the columns with the grants and the values of the callers: for the collection, and for each reference. */
export const callerColumns = (own: AccessStatements, references: readonly RuledReference[]): string[] =>
  [own, ...references.map(({ statements }) => statements)].flatMap(({ rules }, at) =>
    ['grants$', 'reading$', ...rules.symbols.map((_, symbol) => `value$${symbol}`)].map(
      (name) => `${prefixOf(at - 1)}${name}`,
    ),
  );

const prefixOf = (reference: number): string => (reference < 0 ? '' : `to${reference}$`);

/**
 * The statement that creates records for which a grant holds, and which refer to records that their creators may read: $1 rows as
 * JSON, with `callerColumns`, $2 actors. It returns the place of each record that it has created, and the bits of the grants that
 * decide which of its fields its creator may read.
 */
export function creationSql(own: AccessStatements, references: readonly RuledReference[]): string {
  const { resource } = own;
  const { source, columns } = rowsOf(own, references);
  const conditions = [
    own.anyOf('create', ['record'], CALLERS, 'grants$'),
    ...references.map((reference, at) => referenceSql(resource, reference, at)),
  ];
  const inserted = columns.map(
    ({ name, type }) => `, ${type === 'jsonb' ? `jsonb_strip_nulls(${name})` : name}`,
  );
  const unique = resource.unique.flatMap(({ fields }) => fields.map((field) => columnOf(resource, field)));
  const text = `with permitted as materialized (
  select record.*, ${own.deciding('record', CALLERS, 'reading$')} as readable$
  from ${source}
  where ${conditions.join('\n    and ')}
), created as (
  insert into ${resource.table} (id, version, updated_at, doc${columns.map(({ name }) => `, ${name}`).join('')})
  select id, version, updated_at, doc${inserted.join('')} from permitted, ${ACTING}
  order by ${[...unique, 'id'].join(', ')}
  on conflict do nothing
  returning id
)
select permitted.place$::integer as key, permitted.readable$ as readable from created join permitted using (id)`;
  nameStatement(text, `create_with_rules ${resource.name}`);
  return text;
}

/**
 * The statement that replaces records for which a grant holds both before and after it, and which refer to records that their callers
 * may read, or referred to before. A row has the version that the record gets. Parameters and results are those of `creationSql`.
 */
export function changeSql(own: AccessStatements, references: readonly RuledReference[]): string {
  const { resource } = own;
  const { source, columns } = rowsOf(own, references);
  const conditions = [
    own.anyOf('update', ['current', 'record'], CALLERS, 'grants$'),
    ...references.map((reference, at) => referenceSql(resource, reference, at, 'current')),
  ];
  const isSame = 'current.id = record.id and current.version = record.version - 1';
  const assigned = columns.map((column) => `, ${assignmentSql(column, `record.${column.name}`)}`);
  const text = `with permitted as materialized (
  select record.*, ${own.deciding('record', CALLERS, 'reading$')} as readable$
  from ${source}
  join ${resource.table} as current on ${isSame}
  where ${conditions.join('\n    and ')}
  order by record.id
), changed as (
  update ${resource.table} as current
  set version = record.version, updated_at = record.updated_at, doc = record.doc${assigned.join('')}
  from permitted as record, ${ACTING}
  where ${isSame}
  returning current.id
)
select permitted.place$::integer as key, permitted.readable$ as readable from changed join permitted using (id)`;
  nameStatement(text, `replace_with_rules ${resource.name}`);
  return text;
}

/**
 * The statement that deletes a record that its caller may read and delete: $1 id, $2 $3 $4 preconditions, $5 actor, $6 and $7 the
 * grants to read and to delete, $8... values.
 */
export function removalSql(own: AccessStatements): string {
  const { resource, rules } = own;
  const values = rules.symbols.map((_, at) => [`value$${at}`, `$${at + 8}::text`] as const);
  const given = [['reading$', '$6::integer'], ['grants$', '$7::integer'], ...values] as const;
  const text = `delete from ${resource.table} as record
using (values (${given.map(([, value]) => value).join(', ')})) as given (${given.map(([name]) => name).join(', ')}),
  set_config('plinth.actor', $5, true) as actor$
where record.id = $1
  and ${own.anyOf('read', ['record'], { rows: 'given.' }, 'reading$')}
  and ${own.anyOf('delete', ['record'], { rows: 'given.' }, 'grants$')}
  and record.version = any (coalesce($2::integer[], array[record.version]))
  and record.version <> all (coalesce($3::integer[], '{}'))
  and date_trunc('second', record.updated_at) <= coalesce($4::timestamptz, 'infinity')
returning record.id`;
  nameStatement(text, `remove_with_rules ${resource.name}`);
  return text;
}

const CALLERS = { rows: 'record.' };
const ACTING = "set_config('plinth.actor', $2, true) as actor$";

const columnOf = ({ columns }: Resource, field: string): string => columns.get(field)!.name;

/** The rows of the first parameter as `record`, and the own columns of the collection. */
function rowsOf(own: AccessStatements, references: readonly RuledReference[]) {
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
  { field, isList, statements }: RuledReference,
  at: number,
  before?: string,
): string {
  const callers = { ...CALLERS, prefix: prefixOf(at) };
  const isReadable = statements.anyOf('read', ['target'], callers, 'reading$');
  const found = (id: string) =>
    `exists (select from ${statements.resource.table} as target where target.id = ${id} and ${isReadable})`;
  const column = columnOf(resource, field);
  const own = `record.${column}`;
  if (isList) {
    const given = before ? `given$.id <> all (coalesce(${before}.${column}, '{}')) and ` : '';
    return `not exists (select from unnest(${own}) as given$ (id) where ${given}not ${found('given$.id')})`;
  }
  const same = before ? `${own} = ${before}.${column} or ` : '';
  return `(${own} is null or ${same}${found(own)})`;
}
