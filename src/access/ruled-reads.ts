import { documentsIn, parseRecords } from '../collection/document.js';
import type { StoredRecord } from '../collection/record.js';
import type { Resource } from '../collection/resource.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import { createBatcher } from '../db/batcher.js';
import type { Db, Run } from '../db/db.js';
import type { Engine } from '../db/engine.js';
import { padForImmediateWrite } from '../db/pool/postgres-patches.js';
import type { Principal } from '../principal.js';
import { sharing } from '../telemetry/metrics.js';
import { nextIdentity } from '../uuid.js';
import { AccessStatements } from './access-statements.js';
import { valueFor } from './bound-conditions.js';
import { grantsFor, type Rules, type Verb } from './rules.js';

/** The bits of the grants that hold for a record, of those that a caller may use. */
export interface Masks {
  readonly version: number;
  readonly read: number;
  readonly update: number;
  readonly remove: number;
}

const bits = 2 ** 31 - 1;
/** The grants for a collection without rules. */
export const ALL: Masks = { version: 0, read: bits, update: bits, remove: bits };
export const NONE: Masks = { version: 0, read: 0, update: 0, remove: 0 };

/** Finds out which grants hold for records. Without a `run`, requests of several callers share a statement. */
export interface RuledReads {
  /** A record, if the caller may read it; `large`: it may, and the record is too large to be read together with others. */
  read(id: string, principal: Principal, run: Run | undefined): Promise<StoredRecord | 'absent' | 'large'>;
  /** Undefined: there is no record. */
  masks(id: string, principal: Principal, run: Run | undefined): Promise<Masks | undefined>;
  /** The bits of the grants that hold for a record as it is to be written; `before`: its id, and the version that it replaces. */
  candidate(
    verb: 'create' | 'update',
    before: Pick<StoredRecord, 'id' | 'version'> | undefined,
    input: ValidatedInput,
    principal: Principal,
    run: Run | undefined,
  ): Promise<number>;
}

/** A record with a caller. */
interface Pair {
  readonly id: string;
  /** The bits of the grants that the caller may use, by verb. */
  readonly grants: Readonly<Record<Verb, number>>;
  /** The values of the symbols that the caller has. */
  readonly values: readonly (string | undefined)[];
}

interface Candidate extends Pair {
  readonly row: string;
}

const READS = { max: 64, inFlight: 3, waiting: 20_000, gather: { max: 32, ms: 10 } };
const MASKS = { max: 64, inFlight: 3, waiting: 20_000 };
/** In bytes. */
const CANDIDATES = {
  max: 1_048_576,
  inFlight: 2,
  waiting: 67_108_864,
  weigh: ({ row }: Candidate) => Math.max(4096, row.length),
};

const keyOf = ({ id, grants, values }: Pair): string =>
  // Neither an id nor a value contains U+0000, and an absent value differs from an empty one.
  [id, ...Object.values(grants), ...values.map((value) => (value === undefined ? '' : `=${value}`))].join(
    '\0',
  );

export function openRuledReads(db: Db, resource: Resource, rules: Rules): RuledReads {
  const statements = new RuledStatements(resource, rules, db.engine);
  const share = (operation: string) => sharing(db.metrics, operation, resource.name);
  const candidates = (verb: 'create' | 'update') =>
    createBatcher<Candidate, number>({ ...CANDIDATES, sharing: share(`access to ${verb}`) }, (given) =>
      statements.candidates(verb, db.run, given),
    );
  const read = createBatcher<Pair, StoredRecord | 'absent' | 'large'>(
    { ...READS, keyOf, sharing: share('read with rules') },
    (pairs) => statements.read(db.run, pairs),
  );
  const masks = createBatcher<Pair, Masks | undefined>(
    { ...MASKS, keyOf, sharing: share('access') },
    (pairs) => statements.masks(db.run, pairs),
  );
  const candidate = { create: candidates('create'), update: candidates('update') };
  return {
    read: (id, principal, run) => {
      const pair = statements.pairOf(id, principal);
      return run ? statements.read(run, [pair]).then(([found]) => found!) : read(pair);
    },
    masks: (id, principal, run) => {
      const pair = statements.pairOf(id, principal);
      return run ? statements.masks(run, [pair]).then(([found]) => found) : masks(pair);
    },
    candidate: (verb, before, input, principal, run) => {
      const given = statements.candidateOf(before, input, principal);
      return run ? statements.candidates(verb, run, [given]).then(([mask]) => mask!) : candidate[verb](given);
    },
  };
}

/** The statements of one collection with their parameters and results. */
class RuledStatements {
  readonly #texts: AccessStatements;
  readonly #columnNames: readonly string[];

  constructor(
    readonly resource: Resource,
    readonly rules: Rules,
    engine: Engine,
  ) {
    this.#texts = new AccessStatements(resource, rules, engine);
    this.#columnNames = [...resource.columns.values()].map(({ name }) => name);
  }

  pairOf(id: string, principal: Principal): Pair {
    const grants = (verb: Verb) =>
      grantsFor(this.rules, verb, this.resource, principal).reduce((sum, { place }) => sum | (1 << place), 0);
    return {
      id,
      grants: {
        read: grants('read'),
        create: grants('create'),
        update: grants('update'),
        delete: grants('delete'),
      },
      values: this.#texts.symbols.map((symbol) => valueFor(symbol, principal)),
    };
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

  async read(run: Run, pairs: readonly Pair[]): Promise<(StoredRecord | 'absent' | 'large')[]> {
    const [row] = await run(this.#texts.read, [
      idsOf(pairs),
      grantsOf(pairs, 'read'),
      ...this.#valuesOf(pairs),
    ]);
    const found = new Map<number, StoredRecord | 'large'>();
    for (const text of documentsIn((row!.records as string | null) ?? '')) {
      const colon = text.indexOf(':');
      const [record] = parseRecords(text.slice(colon + 1)).records.values();
      found.set(Number(text.slice(0, colon)), record ?? 'large');
    }
    return pairs.map((_, at) => found.get(at + 1) ?? 'absent');
  }

  async masks(run: Run, pairs: readonly Pair[]): Promise<(Masks | undefined)[]> {
    const rows = await run(this.#texts.masks, [
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
          read: Number(row.read),
          update: Number(row.update),
          remove: Number(row.delete),
        },
      ]),
    );
    return pairs.map((_, at) => found.get(at + 1));
  }

  async candidates(verb: 'create' | 'update', run: Run, given: readonly Candidate[]): Promise<number[]> {
    const rows = await run(this.#texts.candidates(verb), [
      padForImmediateWrite(`[${given.map(({ row }) => row).join(',')}]`),
      grantsOf(given, verb),
      ...this.#valuesOf(given),
    ]);
    const found = new Map(rows.map(({ place, mask }) => [Number(place), Number(mask)]));
    return given.map((_, at) => found.get(at + 1) ?? 0);
  }

  #valuesOf(pairs: readonly Pair[]): string[] {
    return this.#texts.symbols.map((_, at) => arrayOf(pairs.map(({ values }) => values[at])));
  }
}

const idsOf = (pairs: readonly Pair[]): string =>
  padForImmediateWrite(`{${pairs.map(({ id }) => id).join(',')}}`);

const grantsOf = (pairs: readonly Pair[], verb: Verb): string =>
  `{${pairs.map(({ grants }) => grants[verb]).join(',')}}`;

/** An array of PostgreSQL. */
const arrayOf = (texts: readonly (string | undefined)[]): string =>
  `{${texts.map((text) => (text === undefined ? 'null' : `"${text.replace(/["\\]/g, '\\$&')}"`)).join(',')}}`;
