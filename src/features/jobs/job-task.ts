import type { Permission, Principal } from '../../auth/principal.js';
import { NO_QUERY } from '../../http/query-parameters.js';
import type { Request } from '../../http/request.js';
import { DEFAULT_VERSION } from '../../versions/supported.js';

/** The media type of a report. Its profile distinguishes it from the record of another creation, also in generated clients. */
export const REPORT_TYPE = 'application/json; profile=report';

/** The permission of a job. Claims of a token are no part of it. */
interface Permitted {
  readonly subject: string;
  readonly scopes: readonly string[];
  readonly scheme: Principal['scheme'];
  readonly permission: Permission;
  /** The collection with the user on which the job depends: it ends with that record. Absent: there is none. */
  readonly userCollection?: string | undefined;
}

/** A job that creates records. */
export interface CreationTask extends Permitted {
  readonly kind: 'creation';
  readonly collection: string;
  /** The media type of the body. */
  readonly type: string;
  readonly isLenient: boolean;
}

/** A job that another version of the service has stored. */
interface OtherTask {
  readonly kind: string;
  readonly collection: string;
}

export type Task = CreationTask | OtherTask;

export const isCreation = (task: Task): task is CreationTask => task.kind === 'creation';

/** The permission of a request, for its job. */
export const permittedBy = ({ permission, principal: { subject, scopes, scheme } }: Request): Permitted => ({
  ...{ subject, scopes: [...scopes], scheme, permission },
});

/** The request for a job, as far as it matters to the records. */
export const requestOf = (
  id: string,
  { collection, type, permission, subject, scheme, scopes }: CreationTask,
): Request => ({
  ...{ id, method: 'POST', path: `/${collection}`, params: {}, query: NO_QUERY, headers: {}, prefix: '' },
  ...{ type, permission, version: DEFAULT_VERSION, run: undefined, body: undefined },
  principal: { subject, scheme, scopes: new Set(scopes), expiresAt: undefined },
});
