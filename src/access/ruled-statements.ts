import type { Principal } from '../auth/principal.js';
import { documentsIn, parseRecords } from '../collection/document.js';
import type { StoredRecord } from '../collection/record.js';
import type { Resource } from '../collection/resource.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import type { Engine } from '../database-url/engine.js';
import type { Run } from '../db/db.js';
import { padForImmediateWrite } from '../db/pool/prepared.js';
import { arrayElement } from '../db/statements.js';
import { nextIdentity } from '../uuid.js';
import { AccessStatements } from './access-statements.js';
import { type Caller, callerIn } from './bound-conditions.js';
import type { Rules, Verb } from './rules.js';

/** The bits of the grants that hold for a record, of those that a caller may use. */
export interface Masks {
  readonly version: number;
  /** The whole document; undefined: it is large, and read by itself. */
  readonly doc: string | undefined;
  readonly read: number;
  readonly update: number;
  readonly remove: number;
}

/** A whole record, and the bits of the grants that decide which of its fields the caller may read. */
export interface Readable {
  readonly record: StoredRecord;
  readonly mask: number;
}

/** The bits of the grants that hold for a record to be written, and of those that decide which fields its creator may read. */
export interface Candidacy {
  readonly mask: number;
  readonly readable: number;
}

/** A record with a caller. */
export interface Pair {
  readonly id: string;
  readonly caller: Caller;
}

export interface Candidate extends Pair {
  readonly row: string;
}

/** The statements of one collection with their parameters and results. */
export class RuledStatements {
  readonly texts: AccessStatements;
  readonly #columnNames: readonly string[];

  constructor(
    readonly resource: Resource,
    readonly rules: Rules,
    engine: Engine,
  ) {
    this.texts = new AccessStatements(resource, rules, engine);
    this.#columnNames = [...resource.columns.values()].map(({ name }) => name);
  }

  pairOf(id: string, principal: Principal): Pair {
    return { id, caller: this.callerOf(principal) };
  }

  callerOf(principal: Principal): Caller {
    return callerIn(this.rules, principal);
  }

  candidateOf(
    before: Pick<StoredRecord, 'id' | 'version'> | undefined,
    { columns }: ValidatedInput,
    principal: Principal,
  ): Candidate {
    const { id, ms } = before ? { id: before.id, ms: Date.now() } : nextIdentity();
    const row = JSON.stringify({
      id,
      version: (before?.version ?? 0) + 1,
      updated_at: new Date(ms).toISOString(),
      ...Object.fromEntries(this.#columnNames.map((name, index) => [name, columns[index]])),
    });
    return { ...this.pairOf(id, principal), row };
  }

  /** On Citus a statement is of one caller. */
  async #byCaller<P extends Pair, R>(
    pairs: readonly P[],
    work: (pairs: readonly P[]) => Promise<R[]>,
  ): Promise<R[]> {
    if (this.texts.engine.correlates) return work(pairs);
    const groups = new Map<string, number[]>();
    for (const [at, { caller }] of pairs.entries())
      groups.set(caller.key, [...(groups.get(caller.key) ?? []), at]);
    const found: R[] = [];
    await Promise.all(
      [...groups.values()].map(async (places) => {
        const results = await work(places.map((at) => pairs[at]!));
        for (const [index, at] of places.entries()) found[at] = results[index]!;
      }),
    );
    return found;
  }

  read(run: Run, pairs: readonly Pair[]): Promise<(Readable | 'absent' | 'large')[]> {
    return this.#byCaller(pairs, (some) => this.#read(run, some));
  }

  readable(run: Run, pairs: readonly Pair[]): Promise<number[]> {
    return this.#byCaller(pairs, (some) => this.#readable(run, some));
  }

  masks(run: Run, pairs: readonly Pair[]): Promise<(Masks | undefined)[]> {
    return this.#byCaller(pairs, (some) => this.#masks(run, some));
  }

  candidates(verb: 'create' | 'update', run: Run, given: readonly Candidate[]): Promise<Candidacy[]> {
    return this.#byCaller(given, (some) => this.#candidates(verb, run, some));
  }

  async #read(run: Run, pairs: readonly Pair[]): Promise<(Readable | 'absent' | 'large')[]> {
    const [row] = await run(this.texts.read, [
      idsOf(pairs),
      grantsOf(pairs, 'read'),
      ...this.#valuesOf(pairs),
    ]);
    const found = pairs.map((): Readable | 'absent' | 'large' => 'absent');
    for (const text of documentsIn((row!.records as string | null) ?? '')) {
      const first = text.indexOf(':');
      const second = text.indexOf(':', first + 1);
      const [record] = parseRecords(text.slice(second + 1)).records.values();
      const mask = Number(text.slice(first + 1, second));
      found[Number(text.slice(0, first)) - 1] = record ? { record, mask } : 'large';
    }
    return found;
  }

  async #readable(run: Run, pairs: readonly Pair[]): Promise<number[]> {
    const rows = await run(this.texts.readable, [
      idsOf(pairs),
      grantsOf(pairs, 'read'),
      ...this.#valuesOf(pairs),
    ]);
    const found = pairs.map(() => 0);
    for (const { place, mask } of rows) found[Number(place) - 1] = Number(mask);
    return found;
  }

  async #masks(run: Run, pairs: readonly Pair[]): Promise<(Masks | undefined)[]> {
    const rows = await run(this.texts.masks, [
      idsOf(pairs),
      grantsOf(pairs, 'read'),
      grantsOf(pairs, 'update'),
      grantsOf(pairs, 'delete'),
      ...this.#valuesOf(pairs),
    ]);
    const found = new Map(
      rows.map((row) => [
        Number(row.place),
        {
          version: Number(row.version),
          doc: (row.doc as string | null) ?? undefined,
          read: Number(row.read),
          update: Number(row.update),
          remove: Number(row.delete),
        },
      ]),
    );
    return pairs.map((_, at) => found.get(at + 1));
  }

  async #candidates(verb: 'create' | 'update', run: Run, given: readonly Candidate[]): Promise<Candidacy[]> {
    const rows = await run(this.texts.candidates(verb), [
      padForImmediateWrite(`[${given.map(({ row }) => row).join(',')}]`),
      grantsOf(given, verb),
      grantsOf(given, 'read'),
      ...this.#valuesOf(given),
    ]);
    const found = given.map((): Candidacy => ({ mask: 0, readable: 0 }));
    for (const { place, mask, readable } of rows)
      found[Number(place) - 1] = { mask: Number(mask), readable: Number(readable) };
    return found;
  }

  #valuesOf(pairs: readonly Pair[]): string[] {
    return this.rules.symbols.map(
      ({ place }) => `{${pairs.map(({ caller }) => arrayElement(caller.values[place]!)).join(',')}}`,
    );
  }
}

const idsOf = (pairs: readonly Pair[]): string =>
  padForImmediateWrite(`{${pairs.map(({ id }) => id).join(',')}}`);

const grantsOf = (pairs: readonly Pair[], verb: Verb): string =>
  `{${pairs.map(({ caller }) => caller.grants[verb]).join(',')}}`;

export const keyOf = ({ id, caller }: Pair): string => `${id}${caller.key}`;
