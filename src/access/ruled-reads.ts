import type { Principal } from '../auth/principal.js';
import type { StoredRecord } from '../collection/record.js';
import type { Resource } from '../collection/resource.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import { createBatcher } from '../db/batcher.js';
import type { Db, Run } from '../db/db.js';
import { perRun } from '../db/shared-run.js';
import { sharing } from '../telemetry/metrics.js';
import {
  type Candidacy,
  type Candidate,
  keyOf,
  type Masks,
  type Pair,
  type Readable,
  RuledStatements,
} from './ruled-statements.js';
import type { Rules } from './rules.js';

const bits = 2 ** 31 - 1;
/** The grants for a collection without rules. */
export const ALL: Masks = { version: 0, doc: undefined, read: bits, update: bits, remove: bits };

/** Finds out which grants hold for records. Without a `run`, requests of several callers share a statement. */
export interface RuledReads {
  readonly db: Db;
  readonly statements: RuledStatements;
  /** A record, if the caller may read it; `large`: it may, and the record is too large to be read together with others. */
  read(id: string, principal: Principal, run: Run | undefined): Promise<Readable | 'absent' | 'large'>;
  /** The bits of the grants that decide which fields of a record the caller may read; 0: there is none for the caller. */
  readable(id: string, principal: Principal, run: Run | undefined): Promise<number>;
  /** Undefined: there is no record. */
  masks(id: string, principal: Principal, run: Run | undefined): Promise<Masks | undefined>;
  /** The bits of the grants that hold for a record as it is to be written; `before`: its id, and the version that it replaces. */
  candidate(
    verb: 'create' | 'update',
    before: Pick<StoredRecord, 'id' | 'version'> | undefined,
    input: ValidatedInput,
    principal: Principal,
    run: Run | undefined,
  ): Promise<Candidacy>;
  /** The bits of the grants that hold for each of some new records. */
  creations(inputs: readonly ValidatedInput[], principal: Principal, run: Run): Promise<Candidacy[]>;
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

export function openRuledReads(db: Db, resource: Resource, rules: Rules): RuledReads {
  const statements = new RuledStatements(resource, rules, db.engine);
  const share = (operation: string) => sharing(db.metrics, operation, resource.name);
  const candidatesOf = (verb: 'create' | 'update') =>
    perRun(db.run, (run) =>
      createBatcher<Candidate, Candidacy>({ ...CANDIDATES, sharing: share(`access to ${verb}`) }, (given) =>
        statements.candidates(verb, run, given),
      ),
    );
  const readOf = perRun(db.run, (run) =>
    createBatcher<Pair, Readable | 'absent' | 'large'>(
      { ...READS, keyOf, sharing: share('read with rules') },
      (pairs) => statements.read(run, pairs),
    ),
  );
  const readableOf = perRun(db.run, (run) =>
    createBatcher<Pair, number>({ ...MASKS, keyOf, sharing: share('access to read') }, (pairs) =>
      statements.readable(run, pairs),
    ),
  );
  const masksOf = perRun(db.run, (run) =>
    createBatcher<Pair, Masks | undefined>({ ...MASKS, keyOf, sharing: share('access') }, (pairs) =>
      statements.masks(run, pairs),
    ),
  );
  const candidateOf = { create: candidatesOf('create'), update: candidatesOf('update') };
  return {
    db,
    statements,
    read: (id, principal, run = db.run) => {
      const pair = statements.pairOf(id, principal);
      return readOf(run)?.(pair) ?? statements.read(run, [pair]).then(([found]) => found!);
    },
    readable: (id, principal, run = db.run) => {
      const pair = statements.pairOf(id, principal);
      return readableOf(run)?.(pair) ?? statements.readable(run, [pair]).then(([mask]) => mask!);
    },
    masks: (id, principal, run = db.run) => {
      const pair = statements.pairOf(id, principal);
      return masksOf(run)?.(pair) ?? statements.masks(run, [pair]).then(([found]) => found);
    },
    candidate: (verb, before, input, principal, run = db.run) => {
      const given = statements.candidateOf(before, input, principal);
      const batched = candidateOf[verb](run)?.(given);
      return batched ?? statements.candidates(verb, run, [given]).then(([held]) => held!);
    },
    creations: (inputs, principal, run) =>
      statements.candidates(
        'create',
        run,
        inputs.map((input) => statements.candidateOf(undefined, input, principal)),
      ),
  };
}
