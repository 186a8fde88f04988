import type { Principal } from '../auth/principal.js';
import { inAttempts } from '../collection/attempts.js';
import { admitsRecord, type Change, type Changed, changing, type Present } from '../collection/changes.js';
import { isStored, type NotFoundReason, type StoredRecord } from '../collection/record.js';
import type { Removed } from '../collection/removals.js';
import type { Resource } from '../collection/resource.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import { NO_PRECONDITIONS, onlyThis, type WritePreconditions } from '../collection/write-preconditions.js';
import type { Run } from '../db/db.js';
import { writeDenied } from '../errors/caller-errors.js';
import { accessDenied } from '../errors/record-errors.js';
import type { Access } from '../list/condition.js';
import type { Collection, PermittedWrites } from '../list/open-collection.js';
import { readAccess } from './bound-conditions.js';
import { among, hasLimitedReferences, requireReferable } from './checked-references.js';
import { creationErrors, requireCreatable } from './creation-errors.js';
import { checkPart, fieldsIn, requireSettable, shownPart } from './fields.js';
import type { Guarded, Ruled } from './guarded-collection.js';
import { ALL, type RuledReads } from './ruled-reads.js';
import type { Masks } from './ruled-statements.js';
import type { RuledWrites } from './ruled-writes.js';
import { grantsFor, isChangedByCreation, isUnlimited, leadsTo, type Verb } from './rules.js';

/** The part of a record that a caller may read, with the whole record and the grants that hold for it. */
interface Inspected extends StoredRecord {
  readonly whole: StoredRecord;
  readonly masks: Masks;
}

/** One collection as there is for one caller. */
export class CallersCollection {
  readonly #access: Access | undefined;
  readonly #free: Partial<Record<Verb, boolean>> = {};
  /** Whether references to collections without rules are checked by statements of their own. */
  #isApart: boolean | undefined;

  constructor(
    readonly whole: Collection,
    readonly ruled: Ruled | undefined,
    readonly other: (name: string) => Guarded,
    readonly principal: Principal,
    readonly ruledWrites: () => RuledWrites | undefined,
  ) {
    this.#access = ruled && readAccess(ruled.rules, principal);
  }

  get resource(): Resource {
    return this.whole.resource;
  }

  collection(): Collection {
    const { whole } = this;
    const access = this.#access;
    const change = changing<Inspected>(
      (id, run) => this.#changeable(id, run),
      (...args) => this.#replace(...args),
    );
    const writes = {
      create: (input: ValidatedInput, run?: Run) =>
        this.#isFree('create') ? whole.create(input, run) : this.#create(input, run),
      createWithId: (id: string, input: ValidatedInput, run?: Run) =>
        this.#isFree('create') ? whole.createWithId(id, input, run) : this.#createWithId(id, input, run),
      change: (id: string, given: Change, run?: Run) =>
        this.#isFree('update') ? whole.change(id, given, run) : change(id, { ...given, isRead: true }, run),
      remove: (id: string, preconditions: WritePreconditions, run?: Run, actor?: string) =>
        this.#isFree('delete')
          ? whole.remove(id, preconditions, run, actor)
          : this.#remove(id, preconditions, run, actor),
      creationErrors: async (inputs: readonly ValidatedInput[], run: Run) =>
        this.#isFree('create') ? inputs.map(() => undefined) : creationErrors(this, inputs, run),
      ...(this.ruled && { writesOf: (id: string, run?: Run) => this.#writesOf(id, run) }),
    };
    if (!access) return { ...whole, ...writes };
    return {
      ...whole,
      ...writes,
      access,
      check: (input, origin, present, caller) => checkPart(whole, input, origin, present, caller),
      get: (id, run) => this.#get(id, run),
      exists: async (id, run) => (await this.#readableBits(id, run)) !== 0,
      belonging: async (ids, parent, run) =>
        whole.belonging(await whole.ids({ ...among(ids), access }, ids.length, run), parent, run),
      page: (list, run) => whole.page({ ...list, selection: { ...list.selection, access } }, run),
      groups: (request, run) =>
        whole.groups({ ...request, selection: { ...request.selection, access } }, run),
      slice: (request, run) => whole.slice({ ...request, selection: { ...request.selection, access } }, run),
      stream: (list, ...reading) =>
        whole.stream({ ...list, selection: { ...list.selection, access } }, ...reading),
      excerpts: (search, ids, run) => whole.excerpts(search, ids, run, access),
      ids: (selection, limit, run) => whole.ids({ ...selection, access }, limit, run),
      lock: async (ids, parent, run) =>
        whole.lock(await whole.ids({ ...among(ids), access }, ids.length, run), parent, run),
      referring: (column, ids, limit, run) => whole.referring(column, ids, limit, run, access),
      referringCounts: (columns, ids, run) => whole.referringCounts(columns, ids, run, access),
    };
  }

  /**
   * Whether the caller may do something with all records and fields, as a grant without conditions says, and refer to all records:
   * then no statement has to find it out.
   */
  #isFree(verb: Verb): boolean {
    const { ruled, principal } = this;
    const { resource } = this.whole;
    this.#free[verb] ??=
      !this.#access &&
      (!ruled || grantsFor(ruled.rules, verb, resource, principal).some(isUnlimited)) &&
      (verb === 'delete' || !hasLimitedReferences(this));
    return this.#free[verb];
  }

  /** The statements that have the rules in them; undefined: not in a transaction, nor if references are limited by other rules. */
  #statements(run: Run | undefined): RuledWrites | undefined {
    if (run) return undefined;
    this.#isApart ??= hasLimitedReferences(this, ({ ruled }) => !ruled);
    return this.#isApart ? undefined : this.ruledWrites();
  }

  get #reads(): RuledReads {
    return this.ruled!.reads;
  }

  #masks(id: string, run: Run | undefined): Promise<Masks | undefined> {
    return this.#reads.masks(id, this.principal, run);
  }

  #readableBits(id: string, run: Run | undefined): Promise<number> {
    return this.#reads.readable(id, this.principal, run);
  }

  /** Whether the access rules permit the caller to write a record. */
  async #writesOf(id: string, run: Run | undefined): Promise<PermittedWrites> {
    if (this.#isFree('update') && this.#isFree('delete')) return { update: true, remove: true };
    const { update = 0, remove = 0 } = (await this.#masks(id, run)) ?? {};
    return { update: update !== 0, remove: remove !== 0 };
  }

  async #get(id: string, run: Run | undefined): Promise<StoredRecord | NotFoundReason> {
    const found = await this.#reads.read(id, this.principal, run);
    if (found === 'absent') return found;
    if (found === 'large') return this.#inspect(id, run);
    return this.#shown(found.record, found.mask);
  }

  /** A record with the grants that hold for it, as of one moment: `absent` if there is none for the caller. */
  #inspect(id: string, run: Run | undefined): Promise<Inspected | NotFoundReason> {
    return inAttempts(async () => {
      const masks = this.ruled ? await this.#masks(id, run) : ALL;
      if (this.#access && !masks?.read) return 'absent';
      const whole =
        masks?.doc === undefined
          ? await this.whole.get(id, run)
          : { id, version: masks.version, doc: masks.doc };
      if (typeof whole === 'string') return this.#access ? 'absent' : whole;
      // A record that others have created or changed meanwhile may have other grants.
      if (!masks || (this.ruled && masks.version !== whole.version)) return undefined;
      return { ...this.#shown(whole, this.#access && masks.read), whole, masks };
    });
  }

  /** The part of a record that the caller may read; `mask`: of the grants to read, undefined if it may read all. */
  #shown(record: StoredRecord, mask: number | undefined): StoredRecord {
    return mask === undefined ? record : shownPart(record, fieldsIn(this.ruled!.rules, mask));
  }

  async #create(input: ValidatedInput, run: Run | undefined): Promise<StoredRecord> {
    const { whole } = this;
    const created = await this.#statements(run)?.create(input, this.principal);
    const readable = created ? created.readable : await this.#creation(input, run);
    const creating = created ? Promise.resolve(created.stored) : whole.create(input, run);
    // The statement of the check knows neither the numbers that the record will have, nor the record as a related one.
    const isKnown =
      this.#access &&
      whole.resource.numbers.length === 0 &&
      !isChangedByCreation(this.#access.grants, whole.resource);
    return isKnown ? this.#shown(await creating, readable) : this.#written(creating, run);
  }

  async #createWithId(id: string, input: ValidatedInput, run: Run | undefined) {
    await this.#creation(input, run, { id, version: 0 });
    return this.#written(this.whole.createWithId(id, input, run), run);
  }

  /**
   * Throws 403 unless the caller may create the record, 422 for a reference to a record that it may not read. Returns the bits of
   * the grants that decide which fields of the record the caller may read.
   */
  async #creation(
    input: ValidatedInput,
    run: Run | undefined,
    as?: Pick<StoredRecord, 'id' | 'version'>,
  ): Promise<number> {
    const [found] = await Promise.all([
      this.ruled && this.#reads.candidate('create', as, input, this.principal, run),
      requireReferable(this, input, {}, run),
    ]);
    if (!found) return 0;
    requireCreatable(this.whole.resource, this.ruled!.rules, found, input);
    return found.readable;
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
    if (typeof found !== 'string' && found.masks.update === 0) throw writeDenied('change');
    return found;
  }

  async #replace(
    id: string,
    input: ValidatedInput,
    preconditions: WritePreconditions,
    run: Run | undefined,
    present: Present<Inspected> | undefined,
  ): Promise<Changed> {
    const { masks, whole, hidden } = present!.stored;
    const before = { ...present!.record, ...hidden?.values() };
    const written = await this.#statements(run)?.replace(whole, before, input, this.principal);
    if (written) {
      // The statement knows the record before the change as a related one.
      const isKnown = !this.#access?.grants.some(({ conditions }) =>
        leadsTo(conditions, [this.whole.resource.name]),
      );
      return isKnown
        ? this.#shown(written.stored, this.#access && written.readable)
        : this.#written(Promise.resolve(written.stored), run);
    }
    await requireReferable(this, input, before, run);
    if (this.ruled) {
      const after = await this.#reads.candidate('update', whole, input, this.principal, run);
      const held = masks.update & after.mask;
      if (held === 0)
        throw accessDenied('No access rule permits the record as it would be after the change.');
      requireSettable(this.whole.resource, fieldsIn(this.ruled.rules, held), input, before);
    }
    const outcome = await this.whole.replace(id, input, preconditions, run);
    return isStored(outcome) ? this.#written(Promise.resolve(outcome), run) : outcome;
  }

  async #remove(
    id: string,
    preconditions: WritePreconditions,
    run: Run | undefined,
    actor: string | undefined,
  ): Promise<Removed> {
    if (!this.ruled) return this.whole.remove(id, preconditions, run, actor);
    return inAttempts(async () => {
      const removed = run
        ? undefined
        : await this.ruledWrites()?.remove(id, preconditions, this.principal, actor);
      if (removed) return 'removed';
      const found = await this.#inspect(id, run);
      if (typeof found === 'string') return preconditions === NO_PRECONDITIONS ? 'removed' : 'absent';
      if (found.masks.remove === 0) throw writeDenied('delete');
      if (!admitsRecord(preconditions, found)) return { current: found };
      const outcome = await this.whole.remove(id, onlyThis(found), run, actor);
      return typeof outcome === 'object' ? undefined : outcome;
    });
  }
}
