import { definitionsOf } from '../collection/sql-templates.js';
import { nameStatement } from '../telemetry/wait-tracking.js';
import type { AccessStatements } from './access-statements.js';

/** A reference of new records, and the statements of the collection that it leads to. */
export interface RuledReference {
  readonly field: string;
  readonly isList: boolean;
  readonly statements: AccessStatements;
}

/** The names of the columns with the grants and the values of the creators: for the collection, and for each reference. */
export const creatorColumns = (own: AccessStatements, references: readonly RuledReference[]): string[] =>
  [own, ...references.map(({ statements }) => statements)].flatMap(({ rules }, at) =>
    ['grants$', 'reading$', ...rules.symbols.map((_, symbol) => `value$${symbol}`)].map(
      (name) => `${prefixOf(at - 1)}${name}`,
    ),
  );

const prefixOf = (reference: number): string => (reference < 0 ? '' : `to${reference}$`);

/**
 * The statement that creates records for which a grant holds, and which refer to records that their creators may read: $1 rows as
 * JSON, with `creatorColumns`, $2 actors. It returns the place of each record that it has created, and the bits of the grants that
 * decide which of its fields its creator may read.
 */
export function creationSql(own: AccessStatements, references: readonly RuledReference[]): string {
  const { resource } = own;
  const columns = [...resource.columns.values()];
  const column = (field: string) => resource.columns.get(field)!.name;
  const given = [
    ...definitionsOf(resource),
    ...creatorColumns(own, references).map(
      (name) => `${name} ${name.includes('value$') ? 'text' : 'integer'}`,
    ),
  ];
  const names = given.map((each) => each.split(' ', 1)[0]);
  const readable = references.map(({ field, isList, statements }, at) => {
    const callers = { rows: 'record.', prefix: prefixOf(at) };
    const isReadable = statements.anyOf('read', 'target', callers, 'reading$');
    const found = (id: string) =>
      `exists (select from ${statements.resource.table} as target where target.id = ${id} and ${isReadable})`;
    const own = `record.${column(field)}`;
    return isList
      ? `not exists (select from unnest(${own}) as given$ (id) where not ${found('given$.id')})`
      : `(${own} is null or ${found(own)})`;
  });
  const conditions = [own.anyOf('create', 'record', { rows: 'record.' }, 'grants$'), ...readable];
  const inserted = columns.map(
    ({ name, type }) => `, ${type === 'jsonb' ? `jsonb_strip_nulls(${name})` : name}`,
  );
  const text = `with permitted as materialized (
  select record.*, ${own.deciding('record', { rows: 'record.' }, 'reading$')} as readable$
  from rows from (json_to_recordset($1::text::json) as (${given.join(', ')})) with ordinality
    as record (${names.join(', ')}, place$)
  where ${conditions.join('\n    and ')}
), created as (
  insert into ${resource.table} (id, version, updated_at, doc${columns.map(({ name }) => `, ${name}`).join('')})
  select id, version, updated_at, doc${inserted.join('')} from permitted, set_config('plinth.actor', $2, true) as actor$
  order by ${[...resource.unique.flatMap(({ fields }) => fields.map(column)), 'id'].join(', ')}
  on conflict do nothing
  returning id
)
select permitted.place$::integer as key, permitted.readable$ as readable from created join permitted using (id)`;
  nameStatement(text, `create_with_rules ${resource.name}`);
  return text;
}
