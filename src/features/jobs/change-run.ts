import { buffer } from 'node:stream/consumers';
import type { Guarded } from '../../access/guarded-collection.js';
import { forRecord, matching } from '../../actions/bulk.js';
import type { Run } from '../../db/db.js';
import type { Request } from '../../http/request.js';
import type { Action } from '../../http/router.js';
import { type Comparison, OWN_COLUMNS, type Selection } from '../../list/condition.js';
import { createdAt } from '../../uuid.js';
import type { RunnerServices } from './creation-run.js';
import { inputFrom } from './job-parts.js';
import { changeResources, collectionGone, requireNoClaims } from './job-rules.js';
import { type ClaimedJob, type Leased, LeaseLost } from './job-store.js';
import { type ChangeTask, requestOf } from './job-task.js';
import { requireUser } from './job-user.js';
import { Report } from './report.js';

/** Records of one transaction, each in a subtransaction: PostgreSQL has 64 of these in memory. */
const BATCH_RECORDS = 50;

/** How long after its request a job still changes new records: clocks differ, and a job must end. */
const NEW_RECORDS_MS = 300_000;

const MIN_ID = '00000000-0000-0000-0000-000000000000';

/** One attempt at a change of all records that match a filter, in the order of their ids. */
export class ChangeRun {
  readonly #collection: Guarded;
  readonly #action: Action;
  readonly #report: Report;
  /** The id of the last record that the job has changed, or left as it was. */
  #after: string;

  constructor(
    readonly services: RunnerServices,
    readonly job: ClaimedJob<ChangeTask>,
    readonly held: Leased,
    /** Throws if the attempt must end. */
    readonly requireHeld: () => void,
  ) {
    const { collection: name, method } = job.task;
    const found = services.collections.find(({ resource }) => resource.name === name);
    const action = services.actions.get(`${method} ${name}`);
    if (!found || !action) throw collectionGone(name);
    [this.#collection, this.#action] = [found, action];
    this.#report = new Report(found.resource, job.progress);
    this.#after = job.progress?.after ?? MIN_ID;
  }

  async run(): Promise<void> {
    const { services, job, held } = this;
    const { db, metrics, wrote } = services;
    const request = requestOf(job, await buffer(inputFrom(db.run, job.id, 0)));
    const selection = matching(this.#collection, services.collections, request);
    requireNoClaims(changeResources(this.#collection, services.collections, selection, request.body));
    while (await db.transaction((run) => this.#changeNext(request, run))) wrote();
    const { meta, faults } = this.#report.result(false);
    const { records: matched, stored: changed, ...rest } = meta;
    if (!(await held.end(db.run, 'done', { meta: { matched, changed, ...rest }, faults })))
      throw new LeaseLost();
    metrics.jobs.of('done').value++;
  }

  /** Changes the next records, and stores how far the job has got. False: there are no more. */
  async #changeNext(request: Request, run: Run): Promise<boolean> {
    const { services, job, held } = this;
    // Access rules decide as of now.
    const collection = this.#collection.as(request);
    const selection = matching(this.#collection, services.collections, request);
    const ids = await collection.ids(this.#next(selection), BATCH_RECORDS, run);
    if (ids.length === 0) return false;
    await collection.lock(ids, undefined, run);
    await requireUser(services.collections, job.task, run);
    // Others may have changed some before these were locked.
    const found = await collection.ids(within(selection, ownCondition('id', 'in', ids)), ids.length, run);
    const latest = performance.now() + services.dbTimeoutMs / 4;
    this.#after = ids.at(-1)!;
    for (const [at, id] of found.entries()) {
      this.requireHeld();
      await this.#change(id, request, run);
      if (at === found.length - 1 || performance.now() < latest) continue;
      // The transaction must not take too long.
      this.#after = id;
      break;
    }
    if (!(await held.advance(run, { ...this.#report.state, after: this.#after }))) throw new LeaseLost();
    return true;
  }

  /** The records of a selection that the job has yet to change. */
  #next(selection: Selection): Selection {
    const latest = new Date(createdAt(this.job.id) + NEW_RECORDS_MS).toISOString();
    return within(
      selection,
      ownCondition('id', 'gt', [this.#after]),
      ownCondition('created_at', 'lte', [latest]),
    );
  }

  async #change(id: string, request: Request, run: Run): Promise<void> {
    try {
      // Sent together. The savepoints of a transaction are nested, which saves a statement for each record.
      await Promise.all([run('savepoint record', []), this.#act(forRecord(request, id, run))]);
      await this.#report.add(1, []);
    } catch (error) {
      this.#report.refuse(id, error);
      await run('rollback to savepoint record', []);
    }
  }

  /** Rejects with what the action throws. */
  async #act(request: Request): Promise<void> {
    await this.#action.run(request);
  }
}

const within = (selection: Selection, ...conditions: readonly Comparison[]): Selection => ({
  ...selection,
  conditions: [...selection.conditions, ...conditions],
});

const ownCondition = (
  field: 'id' | 'created_at',
  operator: Comparison['operator'],
  values: readonly string[],
): Comparison => ({ kind: 'comparison', field, column: OWN_COLUMNS.get(field)!, operator, values });
