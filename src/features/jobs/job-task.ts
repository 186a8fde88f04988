import type { IncomingHttpHeaders } from 'node:http';
import type { Permission, Principal } from '../../auth/principal.js';
import { JSON_TYPE } from '../../http/media-types.js';
import type { Body, Request } from '../../http/request.js';
import type { Json } from '../../json.js';
import { DEFAULT_VERSION, VERSIONS } from '../../versions/supported.js';

/** The media type of a report. Its profile distinguishes it from the record of another creation, also in generated clients. */
export const REPORT_TYPE = 'application/json; profile=report';

/** The permission of a job. Claims of a token are no part of it. */
interface Permitted {
  readonly collection: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  readonly scheme: Principal['scheme'];
  readonly permission: Permission;
  /** The collection with the user on which the job depends: it ends with that record. Absent: there is none. */
  readonly userCollection?: string | undefined;
}

/** The permission of a request, for its job. */
export const permittedBy = ({
  permission,
  principal: { subject, scopes, scheme },
}: Request): Omit<Permitted, 'collection'> => ({ subject, scopes: [...scopes], scheme, permission });

/** A job that creates records. */
export interface CreationTask extends Permitted {
  readonly kind: 'creation';
  /** The media type of the body. */
  readonly type: string;
  readonly isLenient: boolean;
}

/** A job that writes a list into the database, from which clients can download it. */
export interface ExportTask extends Permitted {
  readonly kind: 'export';
  /** The media type of the result. */
  readonly type: string;
  /** GET with the query in the address, or QUERY with one in the body. */
  readonly method: string;
  readonly query: string;
  readonly body: Json;
  /** The number of the version of the request. */
  readonly version: string;
}

/** A job that changes or deletes the records that match a filter. The patch is its input. */
export interface ChangeTask extends Permitted {
  readonly kind: 'change';
  readonly method: 'PATCH' | 'DELETE';
  /** The media type of the patch. */
  readonly type: string;
  readonly query: string;
  /** The preconditions of each change. */
  readonly headers: IncomingHttpHeaders;
  readonly prefix: string;
  /** The number of the version of the request. */
  readonly version: string;
}

export type Task = CreationTask | ExportTask | ChangeTask;

/** Whether a job stores what it can, and reports the rest. */
export const isLenient = (task: Task): boolean =>
  task.kind === 'change' || (task.kind === 'creation' && task.isLenient);

/** The request for a job, as far as it matters to the records. `input`: the body that was stored. */
export function requestOf(
  { id, task }: { readonly id: string; readonly task: Task },
  input = Buffer.alloc(0),
): Request {
  const { collection, subject, scopes, scheme, permission } = task;
  const known = task.kind === 'creation' ? { method: 'POST', query: '', version: '1' } : task;
  const { method, query, version } = known;
  const { headers, prefix, type } =
    task.kind === 'change' ? { ...task, type: '' } : { headers: {}, prefix: '', type: task.type };
  return {
    ...{ id, method, query, headers, prefix, type, permission, path: `/${collection}`, params: {} },
    version: VERSIONS.find(({ number }) => number === version) ?? DEFAULT_VERSION,
    principal: { subject, scopes: new Set(scopes), scheme, expiresAt: undefined },
    run: undefined,
    body: bodyOf(task, input),
  };
}

function bodyOf(task: Task, input: Buffer): Body | undefined {
  if (task.kind === 'change' && input.length > 0)
    return { type: task.type, value: JSON.parse(input.toString()) as Json, bytes: input };
  if (task.kind !== 'export' || task.body === null) return undefined;
  return { type: JSON_TYPE, value: task.body, bytes: input };
}
