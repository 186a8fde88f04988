import { type Principal, permissionOf } from '../auth/principal.js';
import type { Resource } from '../collection/resource.js';
import { type Grant, grantsFor, mightPermit, type Rules, wholeReads } from './rules.js';

/** Finds the links of records that a caller cannot follow. It reads nothing: a link remains where only the record could tell. */
export class LinkRules {
  /** The bits of the grants that the caller may use to read, and of these, in their order, those that show all fields. */
  readonly #reading: number;
  readonly #whole: readonly number[];
  /** The bits of the grants that the caller may use to change a record, and to delete one. */
  readonly #changing: readonly [update: number, remove: number];
  /** The names of the links, without and with those of the writes that are not permitted. */
  readonly #names: readonly (string | undefined)[];

  /** `rules`: of the collection; undefined: its scopes alone decide. `children`: the collections nested under its records. */
  constructor(
    readonly rules: Rules | undefined,
    resource: Resource,
    children: readonly Resource[],
    principal: Principal,
  ) {
    const usable = (verb: 'read' | 'update' | 'delete') =>
      rules ? grantsFor(rules, verb, resource, principal) : [];
    this.#reading = bitsOf(usable('read'));
    const whole = rules ? wholeReads(rules) : [];
    this.#whole = whole.map((grant) => bitsOf([grant]) & this.#reading).filter((bit) => bit !== 0);
    const { owner, scopes } = resource;
    const deletion = { scopes: [scopes.write], ownership: 'rules', deletesAccount: owner } as const;
    const mayDelete = !owner || permissionOf(principal, deletion, {}) !== undefined;
    this.#changing = [bitsOf(usable('update')), mayDelete ? bitsOf(usable('delete')) : 0];
    const unreadable = children.filter((child) => !mightPermit(child, 'read', principal));
    const names = (...writes: string[]) =>
      [...writes, ...unreadable.map(({ name }) => name)].join(' ') || undefined;
    this.#names = [names(), names('update'), names('delete'), names('update', 'delete')];
  }

  /**
   * The names of the links, as StoredRecord.unlinked has them. `mask`: the bits of the grants by which a read has decided which fields
   * the caller may read, 0: it may not read the record; undefined: unknown.
   */
  unlinked(mask: number | undefined): string | undefined {
    if (!this.rules) return this.#names[0];
    const possible = mask === 0 ? 0 : mask === undefined ? -1 : ~this.#refutedBy(mask);
    const [update, remove] = this.#changing;
    return this.#names[((update & possible) === 0 ? 1 : 0) + ((remove & possible) === 0 ? 2 : 0)];
  }

  /** The bits of the grants that do not hold. Once a grant of all fields holds, those after it were not examined. */
  #refutedBy(mask: number): number {
    let before = 0;
    for (const bit of this.#whole) {
      if ((mask & bit) !== 0) return before;
      before |= bit;
    }
    return this.#reading & ~mask;
  }
}

const bitsOf = (grants: readonly Grant[]): number => grants.reduce((sum, { place }) => sum | (1 << place), 0);
