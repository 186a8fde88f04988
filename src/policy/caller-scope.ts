import QuickLRU from 'quick-lru';
import type { Principal } from '../auth/principal.js';
import { inAttempts } from '../collection/attempts.js';
import { admitsRecord, type Changed, changing, type Present } from '../collection/changes.js';
import { isStored, type NotFoundReason, type StoredRecord } from '../collection/record.js';
import type { Removed } from '../collection/removals.js';
import type { Resource } from '../collection/resource.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import { NO_PRECONDITIONS, onlyThis, type WritePreconditions } from '../collection/write-preconditions.js';
import { creationOf, replacementOf } from '../collection/writes.js';
import type { Db, Run } from '../db/db.js';
import { writeDenied } from '../errors/caller-errors.js';
import { accessDenied } from '../errors/record-errors.js';
import type { JsonObject } from '../json.js';
import { type Access, among } from '../list/condition.js';
import type { Collection, WritePermissions } from '../list/open-collection.js';
import { checkWithMask, fieldsIn, maskRecord, requireSettable } from './column-mask.js';
import {
  dependsOnTime,
  grantsFor,
  isByRecord,
  isChangedByCreation,
  isUnlimited,
  leadsTo,
  type Policy,
  policyOf,
  type Verb,
} from './policy.js';
import { PolicyStore } from './policy-store.js';
import { hasLimitedReferences, referenceProblems } from './reference-check.js';
import { readAccess } from './row-filter.js';
import type { ScopedCollection } from './scoped-collection.js';

/** The part of a record that a caller may read, with the whole record and the grants that hold for it. */
interface Inspected extends StoredRecord {
  readonly whole: StoredRecord;
  readonly update: number;
  readonly remove: number;
}

/** One collection as there is for one caller. */
class CallerScope {
  readonly resource: Resource;
  readonly policy: Policy;
  readonly #access: Access | undefined;
  readonly #free: Partial<Record<Verb, boolean>> = {};

  constructor(
    readonly whole: Collection,
    readonly store: PolicyStore,
    readonly other: (name: string) => ScopedCollection,
    readonly principal: Principal,
  ) {
    this.resource = whole.resource;
    this.policy = store.policy;
    this.#access = isByRecord(this.resource) ? readAccess(this.policy, principal) : undefined;
  }

  /** Whether the caller may do everything. */
  get isWhole(): boolean {
    return this.#isFree('create') && this.#isFree('update') && this.#isFree('delete');
  }

  collection(): Collection {
    const { whole } = this;
    const access = this.#access;
    const change = changing<Inspected>(
      (id, run) => this.#changeable(id, run),
      (...args) => this.#replace(...args),
    );
    const writes: Partial<Collection> = {
      ...(!this.#isFree('create') && {
        create: (input, run) => this.#create(input, run),
        createWithId: (id, input, run) => this.#createWithId(id, input, run),
        creationErrors: (...args) => this.#creationErrors(...args),
      }),
      ...(!this.#isFree('update') && {
        change: (id, given, run) => change(id, { ...given, isRead: true }, run),
      }),
      ...(!this.#isFree('delete') && { remove: (...args) => this.#remove(...args) }),
      ...(isByRecord(this.resource) && { writesOf: (id, run) => this.#writesOf(id, run) }),
    };
    if (!access) return { ...whole, ...writes };
    const lists = whole.within(access);
    return {
      ...whole,
      ...lists,
      ...writes,
      access,
      check: (input, origin, present, caller) => checkWithMask(whole, input, origin, present, caller),
      get: (id, run) => this.#inspect(id, run, false),
      exists: async (id, run) => (await this.#readableBits(id, run)) !== 0,
      lock: async (ids, run) => whole.lock(await lists.ids(among(ids), ids.length, run), run),
    };
  }

  /**
   * Whether the caller may do something with all records and fields, as a grant without conditions says, and refer to all records:
   * then no statement has to find it out.
   */
  #isFree(verb: Verb): boolean {
    const { policy, principal, resource } = this;
    this.#free[verb] ??=
      !this.#access &&
      (!isByRecord(resource) || grantsFor(policy, verb, resource, principal).some(isUnlimited)) &&
      (verb === 'delete' || !hasLimitedReferences(this));
    return this.#free[verb];
  }

  async #readableBits(id: string, run?: Run): Promise<number> {
    return (await this.store.held(id, this.principal, run))?.read ?? 0;
  }

  /** Whether the access rules permit the caller to write a record. */
  async #writesOf(id: string, run: Run | undefined): Promise<WritePermissions> {
    if (this.#isFree('update') && this.#isFree('delete')) return { update: true, remove: true };
    const { update = 0, remove = 0 } = (await this.store.held(id, this.principal, run, true)) ?? {};
    return { update: update !== 0, remove: remove !== 0 };
  }

  /** A record with the grants that hold for it, as of one moment: `absent` if there is none for the caller. */
  #inspect(id: string, run: Run | undefined, isWritten = true): Promise<Inspected | NotFoundReason> {
    return inAttempts(async () => {
      const held = await this.store.held(id, this.principal, run, isWritten);
      if (this.#access && !held?.read) return 'absent';
      const whole =
        held?.doc === undefined
          ? await this.whole.get(id, run)
          : { id, version: held.version, doc: held.doc };
      if (typeof whole === 'string') return this.#access ? 'absent' : whole;
      // A record that others have created or changed meanwhile may have other grants.
      if (held?.version !== whole.version) return undefined;
      const { read, update, remove } = held;
      return { ...this.#shown(whole, this.#access && read), whole, update, remove };
    });
  }

  /** The part of a record that the caller may read; `mask`: of the grants to read, undefined if it may read all. */
  #shown(record: StoredRecord, mask: number | undefined): StoredRecord {
    return mask === undefined ? record : maskRecord(record, fieldsIn(this.policy, mask));
  }

  async #create(input: ValidatedInput, run: Run | undefined): Promise<StoredRecord> {
    const { whole, resource, principal } = this;
    const written = await this.store.write(creationOf(resource, input), input, undefined, principal, run);
    const readable = written ? written.readable : await this.#requireCreatable(input, run);
    const creating = written ? Promise.resolve(written.stored) : whole.create(input, run);
    // The statement of the check knows neither the numbers that the record will have, nor the record as a related one.
    const isKnown =
      this.#access && resource.numbers.length === 0 && !isChangedByCreation(this.#access.grants, resource);
    return isKnown ? this.#shown(await creating, readable) : this.#written(creating, run);
  }

  async #createWithId(id: string, input: ValidatedInput, run: Run | undefined) {
    await this.#requireCreatable(input, run, id);
    return this.#written(this.whole.createWithId(id, input, run), run);
  }

  /**
   * Throws 422 for a reference to a record that the caller may not read, and 403 unless it may create the record. Returns the bits of
   * the grants that decide which fields of the record the caller may read.
   */
  async #requireCreatable(input: ValidatedInput, run: Run | undefined, id?: string): Promise<number> {
    const [problem] = await referenceProblems(this, [input], {}, run);
    if (problem) throw problem;
    const write = creationOf(this.resource, input, id);
    const [found] = await this.store.examine('create', [write], this.principal, run);
    this.#requirePermitted(found!.mask, input, undefined);
    return found!.readable;
  }

  /** Throws 403 unless the grants that hold for a write permit it, and each field that it sets. `before`: the record. */
  #requirePermitted(mask: number, input: ValidatedInput, before: JsonObject | undefined): void {
    if (mask === 0)
      throw accessDenied(
        before
          ? 'No access rule permits the record as it would be after the change.'
          : 'No access rule permits you to create this record.',
      );
    requireSettable(this.resource, fieldsIn(this.policy, mask), input, before);
  }

  /** Resolves to the error of each of the first new records, undefined for one that the caller may create, as a Collection does. */
  async #creationErrors(
    inputs: readonly ValidatedInput[],
    run: Run,
    known: JsonObject = {},
  ): Promise<unknown[]> {
    const decided = this.#isChangedByCreations() ? inputs.slice(0, 1) : inputs;
    const problems = await referenceProblems(this, decided, known, run);
    const writes = decided.map((input) => creationOf(this.resource, input));
    const found = await this.store.examine('create', writes, this.principal, run);
    return decided.map((input, at) => {
      if (problems[at]) return problems[at];
      try {
        return this.#requirePermitted(found[at]!.mask, input, undefined);
      } catch (error) {
        return error;
      }
    });
  }

  /** Whether the creation of one record can change whether the caller may create another one. */
  #isChangedByCreations(): boolean {
    const isChanged = ({ grants }: Policy, verb: Verb) =>
      isChangedByCreation(
        grants.filter(({ verbs }) => verbs.has(verb)),
        this.resource,
      );
    return (
      isChanged(this.policy, 'create') ||
      this.resource.references.some(({ to }) => isChanged(this.other(to).policy, 'read'))
    );
  }

  /** The part of a written record that the caller may read. */
  async #written<T extends StoredRecord | undefined>(writing: Promise<T>, run: Run | undefined): Promise<T> {
    const stored = await writing;
    if (!stored) return stored;
    return this.#shown(stored, this.#access && (await this.#readableBits(stored.id, run))) as T;
  }

  /** Throws 403 unless the access rules permit the caller to change the record. */
  async #changeable(id: string, run: Run | undefined): Promise<Inspected | NotFoundReason> {
    const found = await this.#inspect(id, run);
    if (typeof found !== 'string' && found.update === 0) throw writeDenied('change');
    return found;
  }

  async #replace(
    id: string,
    input: ValidatedInput,
    preconditions: WritePreconditions,
    run: Run | undefined,
    present: Present<Inspected> | undefined,
  ): Promise<Changed> {
    const { update, whole, hidden } = present!.stored;
    const before = { ...present!.record, ...hidden?.values() };
    const write = replacementOf(whole.id, whole.version, input);
    const written = await this.store.write(write, input, before, this.principal, run);
    if (written) {
      // The statement knows the record before the change as a related one.
      const isKnown = !this.#access?.grants.some(({ conditions }) =>
        leadsTo(conditions, [this.resource.name]),
      );
      return isKnown
        ? this.#shown(written.stored, this.#access && written.readable)
        : this.#written(Promise.resolve(written.stored), run);
    }
    const [problem] = await referenceProblems(this, [input], before, run);
    if (problem) throw problem;
    const [after] = await this.store.examine('update', [write], this.principal, run);
    this.#requirePermitted(update & after!.mask, input, before);
    const outcome = await this.whole.replace(id, input, preconditions, run);
    return isStored(outcome) ? this.#written(Promise.resolve(outcome), run) : outcome;
  }

  #remove(id: string, preconditions = NO_PRECONDITIONS, run?: Run, actor?: string): Promise<Removed> {
    return inAttempts(async () => {
      if (await this.store.remove(id, preconditions, this.principal, run, actor)) return 'removed';
      const found = await this.#inspect(id, run);
      if (typeof found === 'string') return preconditions === NO_PRECONDITIONS ? 'removed' : 'absent';
      if (found.remove === 0) throw writeDenied('delete');
      if (!admitsRecord(preconditions, found)) return { current: found };
      const outcome = await this.whole.remove(id, onlyThis(found), run, actor);
      return typeof outcome === 'object' ? undefined : outcome;
    });
  }
}

const MAX_KNOWN = 1000;

/** Opens collections of a database to callers, with the policy of each. Throws 400 for invalid access rules. */
export function openScopedCollections(db: Db, collections: readonly Collection[]): ScopedCollection[] {
  const resources = collections.map(({ resource }) => resource);
  const all = new Map<string, ScopedCollection>();
  const other = (name: string) => all.get(name)!;
  for (const whole of collections) {
    const { resource } = whole;
    const policy = policyOf(resource, resources);
    const store = new PolicyStore(db, policy, other);
    /** Collections as there are for the last callers: the requests with a credential have one principal while it is cached. */
    const known = new QuickLRU<Principal, Collection>({ maxSize: MAX_KNOWN / 2 });
    const open = (principal: Principal): Collection => {
      const scope = new CallerScope(whole, store, other, principal);
      const collection = scope.isWhole ? whole : scope.collection();
      if (!dependsOnTime(policy)) known.set(principal, collection);
      return collection;
    };
    const as: ScopedCollection['as'] = ({ principal }) => known.get(principal) ?? open(principal);
    all.set(resource.name, { resource, policy, store, whole, as });
  }
  return [...all.values()];
}
