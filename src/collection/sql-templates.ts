import { type Engine, POSTGRESQL } from '../database-url/engine.js';
import { fill, statementsOn } from '../db/statements.js';
import { nameStatement } from '../telemetry/wait-tracking.js';
import { assignmentSql, parameterSql, rawParameter } from './column.js';
import { DOCUMENT_SQL } from './document.js';
import { numberParts } from './numbers.js';
import { givenRowsSql, type Resource } from './resource.js';

/** Statements that a collection has once, by their names in sql/collection. */
type Single =
  | 'get'
  | 'get_large'
  | 'exists'
  | 'lock'
  | 'create'
  | 'create_with_id'
  | 'deleted'
  | 'lock_key'
  | 'create_many'
  | 'create_numbered'
  | 'lock_numbers'
  | 'replace'
  | 'replace_many'
  | 'remove'
  | 'remove_if'
  | 'remove_many';

const FILES = ['read', 'write'];

/**
 * The statements of one collection. Names come from its declaration, never from a request. Each is made when it is first
 * used: most services never use most of them.
 */
export class Statements {
  readonly #texts = new Map<Single, string>();
  readonly #parts: Readonly<Record<string, string>>;
  readonly #templates: ReadonlyMap<string, string>;

  constructor(
    readonly resource: Resource,
    hasTombstones: boolean,
    engine: Engine = POSTGRESQL,
  ) {
    this.#templates = new Map(FILES.flatMap((file) => [...statementsOn(engine, `collection/${file}.sql`)]));
    this.#parts = partsOf(resource, hasTombstones);
  }

  /** The text of a statement that the collection has once. */
  of(name: Single): string {
    return this.#texts.get(name) ?? this.#add(name);
  }

  #add(name: Single): string {
    const text = fill(this.#templates.get(name)!, this.#parts);
    nameStatement(text, `${name} ${this.resource.name}`);
    this.#texts.set(name, text);
    return text;
  }
}

function partsOf(resource: Resource, hasTombstones: boolean): Record<string, string> {
  const columns = [...resource.columns.values()];
  const names = columns.map(({ name }) => name);
  const { document, separator, tombstone } = DOCUMENT_SQL;
  return {
    table: resource.table,
    name: resource.name,
    document,
    separator,
    columns: names.map((name) => `, ${name}`).join(''),
    assigned: columns.map((column) => `, ${assignmentSql(column, `record.${column.name}`)}`).join(''),
    unique: resource.unique
      .flatMap(({ fields }) => fields.map((field) => `${resource.columns.get(field)!.name}, `))
      .join(''),
    given_rows: givenRowsSql(resource),
    values: columns.map((column, index) => `, ${parameterSql(column, index + 4)}`).join(''),
    changes: columns
      .map((column, index) => `,\n    ${assignmentSql(column, rawParameter(column, index + 7))}`)
      .join(''),
    given: columns.map((column, index) => `, ${rawParameter(column, index + 7)}::${column.type}`).join(''),
    ...(resource.numbers.length > 0 ? numberParts(resource) : {}),
    acting: `${setActor(2)} as actor$`,
    act_after_create: setActor(columns.length + 4),
    act_after_replace: setActor(columns.length + 7),
    has_tombstones: String(hasTombstones),
    tombstone: hasTombstones ? '\nunion all select 0, null from tombstones where id = $1' : '',
    tombstones: hasTombstones
      ? `\n  union all select ${tombstone} from tombstones where id = any ($1::uuid[])`
      : '',
  };
}

/** Tells the triggers that write events who acts, until the transaction ends. */
const setActor = (position: number): string => `set_config('plinth.actor', $${position}, true)`;
