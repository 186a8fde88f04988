import { escapeToken, isObject, type JsonObject } from '../json.js';
import type { DeclarationFault } from './declaration.js';
import { isGiven } from './field-keywords.js';
import { membersOfParts, namesAt } from './impossible-members.js';
import { ImpossibleValues } from './impossible-values.js';
import type { Declarations } from './read-declarations.js';
import { DEFINITIONS, SchemaFiles, type SchemaNode, subschemas } from './schema-files.js';
import { applying, below } from './schema-parts.js';
import {
  contradiction,
  type Impossible,
  type Members,
  membersOf,
  type Parts,
  type Validate,
} from './value-bounds.js';

/**
 * Rules that exclude each other, wherever a collection's schema leads: a schema that no value obeys, and a condition that needs
 * a member which no object can have.
 */
export function contradictionFaults(
  { collections, shared }: Declarations,
  validate: Validate,
): DeclarationFault[] {
  const own = collections.map(({ name, schema }): [string, object] => [`${name}.json`, schema]);
  const paths = new Map(collections.map(({ name, file }) => [`${name}.json`, file]));
  const files = new SchemaFiles([...own, ...shared]);
  const faults = new Map<string, DeclarationFault>();
  const search = new Walk(files, validate, ({ node, keyword, reason }) => {
    const pointer = keyword === '' ? node.pointer : `${node.pointer}/${keyword}`;
    const file = paths.get(node.file) ?? node.file;
    if (!faults.has(`${file}#${pointer}`)) faults.set(`${file}#${pointer}`, { file, pointer, reason });
  });
  for (const [name] of own) search.record(files.root(name));
  for (const [name] of shared) search.alone(files.root(name));
  return [...faults.values()];
}

/** The fields of a record that no request can set, and that nothing sets before the record is validated. */
export function unsetFields(record: SchemaNode): Members {
  const found = new Map<string, string>();
  for (const [name, field] of Object.entries(membersOf(record.schema.properties))) {
    if (!isObject(field)) continue;
    const keyword = unsettable(field);
    if (keyword !== undefined) found.set(name, keyword);
  }
  return found;
}

function unsettable(field: JsonObject): string | undefined {
  const set = field['x-set'];
  if (set !== undefined) return isObject(set) && ('when' in set || 'next' in set) ? 'x-set' : undefined;
  if (isGiven(field, 'default')) return undefined;
  return ['readOnly', 'x-import-only'].find((keyword) => isGiven(field, keyword));
}

/** `false` is a way to forbid a value, but not every record; a required field that no request can set has a fault of its own. */
const isReported = ({ kind }: Impossible, isRecord: boolean): boolean =>
  kind === 'contradiction' || (isRecord && kind === 'forbidden');

/** Keywords whose schemas apply to the value itself, and perhaps not to each. */
const CONDITIONAL: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'then', 'else', 'dependentSchemas']);
const NEGATED: ReadonlySet<string> = new Set(['not', 'if']);

class Walk {
  readonly #values: ImpossibleValues;
  readonly #seen = new Set<string>();

  constructor(
    readonly files: SchemaFiles,
    readonly validate: Validate,
    readonly found: (impossible: Impossible) => void,
  ) {
    this.#values = new ImpossibleValues(files, validate);
  }

  record(root: SchemaNode): void {
    this.#visit(applying(root, this.files), unsetFields(root), true);
  }

  /** A schema, whatever it applies to. */
  alone(node: SchemaNode): void {
    this.#visit(applying(node, this.files));
  }

  #visit(parts: Parts, unset?: Members, isRecord = false): void {
    const key = parts.map(({ file, pointer }) => `${file}#${pointer}`).join(' ');
    if (parts.length === 0 || this.#seen.has(key)) return;
    this.#seen.add(key);
    const cause = this.#values.of(parts, unset);
    if (cause && isReported(cause, isRecord)) this.found(cause);
    for (const each of this.#values.conflicts(parts, unset).values())
      if (isReported(each, isRecord)) this.found(each);
    for (const each of this.#conditions(parts, parts)) this.found(each);
    this.#members(parts);
    for (const part of parts)
      for (const { keyword, node } of subschemas(part)) this.#subschema(keyword, node, parts);
  }

  /** The members and items of a value, each with the schemas that all parts have for it. */
  #members(parts: Parts): void {
    const members = membersOfParts(parts, this.#values);
    for (const part of parts)
      for (const [name, field] of Object.entries(membersOf(part.schema.properties))) {
        const schemas = members.schemasOf(name);
        this.#visit(schemas);
        if (isObject(field) && field.default !== undefined) this.#default(part, name, field, schemas);
      }
    for (const keyword of ['items', 'additionalProperties']) this.#visit(below(parts, [keyword], this.files));
  }

  /** A default that is valid where it stands, and violates another schema of the member. */
  #default(part: SchemaNode, name: string, field: JsonObject, schemas: Parts): void {
    const keyword = `properties/${escapeToken(name)}/default`;
    for (const other of schemas) {
      const reason = other.schema === field ? undefined : this.validate(other, field.default!);
      if (reason === undefined) continue;
      const at = `${other.file}#${other.pointer}`;
      this.found(contradiction({ node: part, keyword }, `violates ${at}: ${reason}`));
      return;
    }
  }

  #subschema(keyword: string, node: SchemaNode, parts: Parts): void {
    const own = applying(node, this.files);
    if (CONDITIONAL.has(keyword))
      for (const each of this.#conditions(own, [...parts, ...own])) this.found(each);
    if (NEGATED.has(keyword)) {
      for (const [kind, each] of this.#values.conflicts(own)) if (kind !== 'object') this.found(each);
    } else if (!DEFINITIONS.has(keyword) || !this.#seen.has(`${node.file}#${node.pointer}`)) this.#visit(own);
  }

  /** Members that conditions of `own` require, and that no object with all `parts` can have. */
  *#conditions(own: Parts, parts: Parts): Generator<Impossible> {
    const members = membersOfParts(parts, this.#values);
    for (const node of own) {
      const required = own === parts ? [] : namesAt('required', node.schema.required);
      const dependent = Object.entries(membersOf(node.schema.dependentRequired))
        // A member that no object may have needs no other.
        .filter(([name]) => !members.impossibleMember(name))
        .flatMap(([name, names]) => namesAt(`dependentRequired/${escapeToken(name)}`, names));
      for (const { name, keyword } of [...required, ...dependent]) {
        const cause = members.impossibleMember(name);
        if (cause)
          yield cause.kind === 'contradiction'
            ? cause
            : { node, keyword, reason: `requires "${name}", ${cause.reason}`, kind: 'contradiction' };
      }
    }
  }
}
