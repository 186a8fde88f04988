import { isDeepStrictEqual } from 'node:util';
import { isObject, type Json, type JsonObject } from '../../src/json.js';
import { type Data, fulfils } from '../list/evaluator.js';
import {
  type DrawnGrant,
  type DrawnRules,
  FIELDS,
  NAMES,
  type Name,
  PARENTS,
  RELATIONS,
} from './drawn-rules.js';

/** A caller: undefined `subject` is one without a credential. */
export interface Caller {
  readonly label: string;
  readonly subject: string | undefined;
  readonly scopes: readonly string[];
  readonly claims: JsonObject;
  readonly headers: Readonly<Record<string, string>>;
}

type Verb = 'read' | 'create' | 'update' | 'delete';
/** Some fields of a record; undefined: all. */
export type Fields = ReadonlySet<string> | undefined;

const OWN_MEMBERS = ['id', 'created_at', 'updated_at', '_version'];
/** The grants of a collection without rules, of which scopes alone decide. */
const WITHOUT_RULES: readonly DrawnGrant[] = [{ can: ['all'] }];
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const LISTS = ['in', 'nin', 'any'];

const holds = ({ scopes }: Caller, scope: string) =>
  scopes.includes('admin') ||
  scopes.includes(scope) ||
  (scope.endsWith(':read') && scopes.includes(scope.replace(/read$/, 'write')));

export interface Failure {
  readonly status: number;
  readonly code?: string;
}

/** The records of a moment, as callers may read and write them by the rules: the language of access in plain JavaScript. */
export class Model {
  readonly #views = new Map<string, JsonObject[]>();

  constructor(
    readonly rules: DrawnRules,
    readonly data: Data,
  ) {}

  /** The failure of a request whose scopes and grants permit nothing at all; undefined: it goes on. */
  refusal(caller: Caller, name: Name, verb: Verb, parent?: Name): Failure | undefined {
    const needed = [name, ...(parent ? [parent] : [])];
    const grants = this.rules[name];
    const isOpen =
      grants?.some((grant) => grant.to === 'anyone' && can(grant, verb)) &&
      (!parent || this.rules[parent]?.some((grant) => grant.to === 'anyone' && can(grant, 'read')));
    const scopes = needed.map((each, at) => `${each}:${verb === 'read' || at > 0 ? 'read' : 'write'}`);
    const hasRules = grants !== undefined && (!parent || this.rules[parent] !== undefined);
    if (isOpen || scopes.every((scope) => holds(caller, scope))) return undefined;
    if (hasRules && caller.scopes.includes('self')) return undefined;
    return caller.subject === undefined
      ? { status: 401, code: 'UNAUTHORIZED' }
      : { status: 403, code: 'INSUFFICIENT_SCOPE' };
  }

  /** Whether a caller may name the relation to a collection. */
  isRelated(caller: Caller, name: Name): boolean {
    return this.rules[name] !== undefined || holds(caller, `${name}:read`);
  }

  held(caller: Caller, name: Name, verb: Verb, record: JsonObject): readonly DrawnGrant[] {
    const grants = this.rules[name] ?? WITHOUT_RULES;
    return grants.filter(
      (grant) =>
        can(grant, verb) &&
        this.#applies(caller, grant, name, verb) &&
        fulfils(this.data, RELATIONS, name, record, this.#bound(caller, name, grant.where ?? {})),
    );
  }

  /** Whether a grant might permit something to a caller with some record. */
  might(caller: Caller, name: Name, verb: Verb): boolean {
    const grants = this.rules[name];
    return !grants || grants.some((grant) => can(grant, verb) && this.#applies(caller, grant, name, verb));
  }

  /** Whether a caller may read one of some fields, if a record fulfils the conditions of its grants. */
  readsOne(caller: Caller, name: Name, fields: readonly string[]): boolean {
    const grants = (this.rules[name] ?? WITHOUT_RULES).filter(
      (grant) => can(grant, 'read') && this.#applies(caller, grant, name, 'read'),
    );
    const readable = fieldsOf(grants);
    return (
      !this.rules[name] ||
      fields.some((field) => OWN_MEMBERS.includes(field) || (readable?.has(field) ?? true))
    );
  }

  #applies(caller: Caller, { scope, to }: DrawnGrant, name: Name, verb: Verb): boolean {
    if (scope !== undefined && !holds(caller, scope)) return false;
    const needed = `${name}:${verb === 'read' ? 'read' : 'write'}`;
    return (
      to === 'anyone' ||
      holds(caller, needed) ||
      (this.rules[name] !== undefined && caller.scopes.includes('self'))
    );
  }

  /** The conditions with the values of a caller. A comparison with a value that it does not have is false. */
  #bound(caller: Caller, name: string, where: JsonObject): JsonObject {
    const members = Object.entries(where).map(([key, given]): JsonObject => {
      if (key === 'or' || key === 'and')
        return { [key]: (given as JsonObject[]).map((each) => this.#bound(caller, name, each)) };
      if (key === 'not') return { not: this.#bound(caller, name, given as JsonObject) };
      const relation = RELATIONS[name]![key];
      if (relation?.field !== undefined)
        return { [key]: this.#bound(caller, relation.to, given as JsonObject) };
      if (relation)
        return {
          [key]: Object.fromEntries(
            Object.entries(given as JsonObject).map(([quantifier, inner]) => [
              quantifier,
              inner === true ? true : this.#bound(caller, relation.to, inner as JsonObject),
            ]),
          ),
        };
      return this.#comparison(caller, name as Name, key, given!);
    });
    return { and: members };
  }

  #comparison(caller: Caller, name: Name, field: string, given: Json): JsonObject {
    const operators = isObject(given) ? given : { eq: given };
    const [[operator, operand]] = Object.entries(operators) as [[string, Json]];
    if (typeof operand !== 'string' || !operand.startsWith('$')) return { [field]: given };
    const isList = LISTS.includes(operator);
    const value = this.#valueOf(caller, operand, name, field, isList);
    return value === undefined ? { or: [] } : { [field]: { [operator]: value } };
  }

  #valueOf(caller: Caller, symbol: string, name: Name, field: string, isList: boolean): Json | undefined {
    const { subject, claims } = caller;
    if (symbol === '$now') {
      const now = new Date().toISOString();
      return FIELDS[name][field]!.format === 'date' ? now.slice(0, 10) : now;
    }
    if (subject === undefined) return undefined;
    const isId = field === 'id' || FIELDS[name][field]!['x-references'] !== undefined;
    const isNumber = FIELDS[name][field]?.type === 'number';
    const read = (value: Json): Json[] => {
      if (value === null || typeof value === 'object') return [];
      if (isId) return UUID.test(String(value)) ? [String(value)] : [];
      if (isNumber) return /^-?\d+(\.\d+)?$/.test(String(value)) ? [Number(value)] : [];
      return [String(value)];
    };
    if (symbol === '$caller') return read(subject)[0];
    const [, of, member] = /^\$(\w+)\.(\w+)$/.exec(symbol)!;
    if (of === 'caller') return this.data.people!.find(({ id }) => id === subject)?.[member!];
    const value = claims[member!];
    if (value === undefined) return undefined;
    if (isList) return (Array.isArray(value) ? value : [value]).flatMap(read);
    return read(value)[0];
  }

  /** The fields of a record that a caller may read; `hidden`: the record is not there for it. */
  readable(caller: Caller, name: Name, record: JsonObject): Fields | 'hidden' {
    const held = this.held(caller, name, 'read', record);
    return held.length === 0 ? 'hidden' : fieldsOf(held);
  }

  /** A record as a caller sees it; undefined: it does not. */
  view(caller: Caller, name: Name, record: JsonObject): JsonObject | undefined {
    const fields = this.readable(caller, name, record);
    return fields === 'hidden' ? undefined : part(record, fields);
  }

  find(name: Name, id: string): JsonObject | undefined {
    return this.data[name]!.find((record) => record.id === id);
  }

  /** The records of a collection that there are for a caller. */
  seen(caller: Caller, name: Name): readonly JsonObject[] {
    const key = `${caller.label} ${name}`;
    const known =
      this.#views.get(key) ??
      this.data[name]!.map((record) => this.view(caller, name, record)).filter((view) => view !== undefined);
    this.#views.set(key, known);
    return known;
  }

  seenAll(caller: Caller): Data {
    return Object.fromEntries(NAMES.map((name) => [name, this.seen(caller, name)]));
  }

  /** The failure of references to records that the caller may not read. */
  #references(caller: Caller, name: Name, input: JsonObject, before: JsonObject): Failure | undefined {
    for (const [field, { 'x-references': to }] of Object.entries(FIELDS[name])) {
      const id = input[field];
      if (to === undefined || typeof id !== 'string' || id === before[field]) continue;
      const target = this.find(to as Name, id);
      const isReadable = this.rules[to as Name]
        ? target !== undefined && this.view(caller, to as Name, target) !== undefined
        : this.isRelated(caller, to as Name);
      if (!isReadable) return { status: 422 };
    }
    return undefined;
  }

  #duplicate(name: Name, input: JsonObject, id: string | undefined): Failure | undefined {
    const isInUse =
      input.code !== undefined &&
      this.data[name]!.some((other) => other.id !== id && other.code === input.code);
    return isInUse ? { status: 409, code: 'DUPLICATE' } : undefined;
  }

  /** The failure of a creation; undefined: there is a new record. `parent` is the reference that the path names. */
  creation(caller: Caller, name: Name, input: JsonObject, id: string, parent?: string): Failure | undefined {
    const reference = this.#references(caller, name, input, {});
    if (reference) {
      const field = parent !== undefined && this.#references(caller, name, { [parent]: input[parent]! }, {});
      // The reference of the path is the first that is compared, or another one fails before it.
      return field && firstReference(name, input, this, caller) === parent ? { status: 404 } : reference;
    }
    const held = this.held(caller, name, 'create', { ...input, id });
    if (held.length === 0) return { status: 403, code: 'ACCESS_DENIED' };
    const fields = this.rules[name] ? fieldsOf(held) : undefined;
    if (fields && !Object.keys(input).every((field) => fields.has(field)))
      return { status: 403, code: 'FIELDS_DENIED' };
    const isMissing = parent !== undefined && !this.find(PARENTS[name]!.to, String(input[parent]));
    return this.#duplicate(name, input, undefined) ?? (isMissing ? { status: 404 } : undefined);
  }

  firstBad(caller: Caller, name: Name, input: JsonObject): string | undefined {
    return Object.keys(FIELDS[name]).find((field) => {
      const value = input[field];
      return value !== undefined && this.#references(caller, name, { [field]: value }, {}) !== undefined;
    });
  }

  /** The failure of a change to `after`; undefined: it succeeds. `blind` are fields that the request sets and may not read. */
  change(
    caller: Caller,
    name: Name,
    before: JsonObject,
    after: JsonObject,
    blind: readonly string[],
  ): Failure | undefined {
    const held = this.held(caller, name, 'update', before);
    if (held.length === 0) return { status: 403, code: 'ACCESS_DENIED' };
    // A guess of a value that is hidden has the failure of any other value.
    const seen = Object.fromEntries(Object.entries(before).filter(([field]) => !blind.includes(field)));
    const reference = this.#references(caller, name, after, seen);
    if (reference) return reference;
    const still = this.held(caller, name, 'update', { ...before, ...cleared(name), ...after }).filter(
      (grant) => held.includes(grant),
    );
    if (still.length === 0) return { status: 403, code: 'ACCESS_DENIED' };
    const fields = this.rules[name] ? fieldsOf(still) : undefined;
    const changed = Object.keys(FIELDS[name]).filter(
      (field) => !isDeepStrictEqual(after[field], before[field]),
    );
    if (fields && ![...changed, ...blind].every((field) => fields.has(field)))
      return { status: 403, code: 'FIELDS_DENIED' };
    return this.#duplicate(name, after, String(before.id));
  }

  /** The data after a change, without versions and times. */
  changed(name: Name, id: string, after: JsonObject): Data {
    const next = this.data[name]!.map((record) =>
      record.id === id ? { ...own(record), ...after, _version: Number(record._version) + 1 } : record,
    );
    return { ...this.data, [name]: next as JsonObject[] };
  }

  /** The data without a record, and without those that refer to it. */
  without(id: string): Data {
    const gone = new Set([id]);
    for (let size = 0; size !== gone.size; ) {
      size = gone.size;
      for (const each of NAMES)
        for (const record of this.data[each]!)
          for (const [field, { 'x-references': to }] of Object.entries(FIELDS[each]))
            if (to !== undefined && gone.has(String(record[field]))) gone.add(String(record.id));
    }
    return Object.fromEntries(
      NAMES.map((each) => [each, this.data[each]!.filter((record) => !gone.has(String(record.id)))]),
    );
  }

  /** The texts of fields that a caller may not read. A bulk write gives several records one text, of which the caller may read some. */
  secrets(caller: Caller): string[] {
    const readable = JSON.stringify(
      NAMES.map((name) => this.data[name]!.map((record) => this.view(caller, name, record))),
    );
    return NAMES.flatMap((name) =>
      this.data[name]!.flatMap((record) => {
        const seen = this.view(caller, name, record) ?? {};
        return Object.entries(record).flatMap(([field, value]) => {
          const token = typeof value === 'string' ? /~\w{8}/.exec(value)?.[0] : undefined;
          const isHidden = token !== undefined && seen[field] === undefined && !readable.includes(token);
          return isHidden ? [token] : [];
        });
      }),
    );
  }
}

const firstReference = (name: Name, input: JsonObject, model: Model, caller: Caller) =>
  model.firstBad(caller, name, input);

const cleared = (name: Name): JsonObject =>
  Object.fromEntries(Object.keys(FIELDS[name]).map((field) => [field, undefined])) as unknown as JsonObject;

const own = (record: JsonObject): JsonObject =>
  Object.fromEntries(OWN_MEMBERS.map((name) => [name, record[name]!]));

const can = (grant: DrawnGrant, verb: Verb) => grant.can.includes(verb) || grant.can.includes('all');

const fieldsOf = (grants: readonly DrawnGrant[]): Fields =>
  grants.some(({ fields }) => !fields) ? undefined : new Set(grants.flatMap(({ fields }) => fields!));

/** A record with some of its fields. */
export const part = (record: JsonObject, fields: Fields): JsonObject =>
  fields === undefined
    ? record
    : Object.fromEntries(
        Object.entries(record).filter(([name]) => OWN_MEMBERS.includes(name) || fields.has(name)),
      );

/** The collections whose parent is another one. */
export const NESTED = Object.keys(PARENTS) as Name[];
