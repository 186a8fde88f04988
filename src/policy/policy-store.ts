import type { Principal } from '../auth/principal.js';
import { documentsIn } from '../collection/document.js';
import type { StoredRecord } from '../collection/record.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import { createBatcher } from '../db/batcher.js';
import type { Db, Run } from '../db/db.js';
import { padForImmediateWrite } from '../db/pool/prepared.js';
import { perRun } from '../db/shared-run.js';
import { arrayElement } from '../db/statements.js';
import { sharing } from '../telemetry/instruments.js';
import { nextIdentity } from '../uuid.js';
import type { Policy } from './policy.js';
import { PolicySql } from './policy-sql.js';
import { type Caller, callerIn } from './row-filter.js';

/** A record, and the bits of the grants that hold for it, of those that a caller may use. */
export interface Held {
  readonly version: number;
  /** The whole document; undefined: it is large, and read by itself. */
  readonly doc: string | undefined;
  /** The grants that decide which fields the caller may read. */
  readonly read: number;
  readonly update: number;
  readonly remove: number;
}

/** The bits of the grants that hold for a record to be written, and of those that decide which fields its creator may read. */
export interface Candidacy {
  readonly mask: number;
  readonly readable: number;
}

/** A record with a caller. */
interface Pair {
  readonly id: string;
  readonly caller: Caller;
  /** Whether the grants to change and to delete the record are examined as well. */
  readonly isWritten: boolean;
}

/** A record as it is to be written, with a caller. */
interface Candidate {
  readonly row: string;
  readonly caller: Caller;
}

const READS = {
  max: 64,
  inFlight: 3,
  waiting: 20_000,
  gather: { max: 32, ms: 10 },
  keyOf: ({ id, caller, isWritten }: Pair) => `${id}${isWritten ? '+' : ''}${caller.key}`,
};
/** In bytes. */
const CANDIDATES = {
  max: 1_048_576,
  inFlight: 2,
  waiting: 67_108_864,
  weigh: ({ row }: Candidate) => Math.max(4096, row.length),
};

/** Finds out which grants of a policy hold for records. Without a `run`, requests of several callers share a statement. */
export class PolicyStore {
  readonly sql: PolicySql;
  readonly #read;
  readonly #candidacy;

  constructor(
    readonly db: Db,
    readonly policy: Policy,
  ) {
    const { resource } = policy;
    this.sql = new PolicySql(policy, db.engine);
    const share = (operation: string) => sharing(db.metrics, operation, resource.name);
    const candidates = (verb: 'create' | 'update') =>
      perRun(db.run, (run) =>
        createBatcher<Candidate, Candidacy>({ ...CANDIDATES, sharing: share(`access to ${verb}`) }, (given) =>
          this.#candidates(verb, run, given),
        ),
      );
    this.#candidacy = { create: candidates('create'), update: candidates('update') };
    this.#read = perRun(db.run, (run) =>
      createBatcher<Pair, Held | undefined>({ ...READS, sharing: share('read with rules') }, (pairs) =>
        this.#held(run, pairs),
      ),
    );
  }

  /** A record for which a grant holds, of those to read it, or if it `isWritten` of any. Undefined: there is none for the caller. */
  held(
    id: string,
    principal: Principal,
    run: Run | undefined = this.db.run,
    isWritten = false,
  ): Promise<Held | undefined> {
    const pair = { id, caller: callerIn(this.policy, principal), isWritten };
    return this.#read(run)?.(pair) ?? this.#held(run, [pair]).then(([found]) => found);
  }

  /** The bits of the grants that hold for a record as it is to be written; `before`: its id, and the version that it replaces. */
  candidate(
    verb: 'create' | 'update',
    before: Pick<StoredRecord, 'id' | 'version'> | undefined,
    input: ValidatedInput,
    principal: Principal,
    run: Run | undefined = this.db.run,
  ): Promise<Candidacy> {
    const given = this.#candidateOf(before, input, principal);
    return (
      this.#candidacy[verb](run)?.(given) ?? this.#candidates(verb, run, [given]).then(([held]) => held!)
    );
  }

  /** The bits of the grants that hold for each of some new records. */
  creations(inputs: readonly ValidatedInput[], principal: Principal, run: Run): Promise<Candidacy[]> {
    return this.#candidates(
      'create',
      run,
      inputs.map((input) => this.#candidateOf(undefined, input, principal)),
    );
  }

  #candidateOf(
    before: Pick<StoredRecord, 'id' | 'version'> | undefined,
    { columns }: ValidatedInput,
    principal: Principal,
  ): Candidate {
    const { id, ms } = before ? { id: before.id, ms: Date.now() } : nextIdentity();
    const names = [...this.policy.resource.columns.values()].map(({ name }) => name);
    const row = JSON.stringify({
      id,
      version: (before?.version ?? 0) + 1,
      updated_at: new Date(ms).toISOString(),
      ...Object.fromEntries(names.map((name, index) => [name, columns[index]])),
    });
    return { row, caller: callerIn(this.policy, principal) };
  }

  #held(run: Run, pairs: readonly Pair[]): Promise<(Held | undefined)[]> {
    return this.#byCaller(pairs, async (some) => {
      const grants = (['read', 'update', 'delete'] as const).map((verb) =>
        arrayOf(some, ({ caller, isWritten }) => (isWritten || verb === 'read' ? caller.grants[verb] : 0)),
      );
      const ids = padForImmediateWrite(arrayOf(some, ({ id }) => id));
      const [row] = await run(this.sql.held, [ids, ...grants, ...this.#valuesOf(some)]);
      const found = some.map((): Held | undefined => undefined);
      for (const text of documentsIn((row!.records as string | null) ?? '')) {
        const [place, version, read, update, remove] = text.split(':', 5).map(Number) as Five;
        const at = text.indexOf('{');
        const doc = text.endsWith('}') ? text.slice(at) : undefined;
        found[place - 1] = { version, doc, read, update, remove };
      }
      return found;
    });
  }

  #candidates(verb: 'create' | 'update', run: Run, given: readonly Candidate[]): Promise<Candidacy[]> {
    return this.#byCaller(given, async (some) => {
      const rows = await run(this.sql.candidates(verb), [
        padForImmediateWrite(`[${some.map(({ row }) => row).join(',')}]`),
        arrayOf(some, ({ caller }) => caller.grants[verb]),
        arrayOf(some, ({ caller }) => caller.grants.read),
        ...this.#valuesOf(some),
      ]);
      const found = some.map((): Candidacy => ({ mask: 0, readable: 0 }));
      for (const { place, mask, readable } of rows)
        found[Number(place) - 1] = { mask: Number(mask), readable: Number(readable) };
      return found;
    });
  }

  /** On Citus a statement is of one caller. */
  async #byCaller<T extends { readonly caller: Caller }, R>(
    given: readonly T[],
    work: (some: readonly T[]) => Promise<R[]>,
  ): Promise<R[]> {
    if (this.db.engine.correlates) return work(given);
    const groups = new Map<string, number[]>();
    for (const [at, { caller }] of given.entries())
      groups.set(caller.key, [...(groups.get(caller.key) ?? []), at]);
    const found: R[] = [];
    await Promise.all(
      [...groups.values()].map(async (places) => {
        const results = await work(places.map((at) => given[at]!));
        for (const [index, at] of places.entries()) found[at] = results[index]!;
      }),
    );
    return found;
  }

  #valuesOf(given: readonly { readonly caller: Caller }[]): string[] {
    return this.policy.symbols.map(({ place }) =>
      arrayOf(given, ({ caller }) => arrayElement(caller.values[place]!)),
    );
  }
}

type Five = [number, number, number, number, number];

/** An array of PostgreSQL. */
const arrayOf = <T>(given: readonly T[], element: (each: T) => unknown): string =>
  `{${given.map(element).join(',')}}`;
