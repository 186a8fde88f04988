import { JSON_TYPE } from '../../collection/representation.js';
import type { Request } from '../../http/request.js';
import type { Json } from '../../json.js';
import type { Permission, Principal } from '../../principal.js';
import { DEFAULT_VERSION, VERSIONS } from '../../versions/supported.js';

/** The permission of a job. Claims of a token are no part of it. */
interface Permitted {
  readonly collection: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  readonly scheme: Principal['scheme'];
  readonly permission: Permission;
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

export type Task = CreationTask | ExportTask;

/** The request for a job, as far as it matters to the records. */
export function requestOf({ id, task }: { readonly id: string; readonly task: Task }): Request {
  const { collection, type, subject, scopes, scheme, permission } = task;
  const [method, query, value, number] =
    task.kind === 'export' ? [task.method, task.query, task.body, task.version] : ['POST', '', null, '1'];
  return {
    ...{ id, method, query, type, permission, path: `/${collection}`, prefix: '', params: {}, headers: {} },
    version: VERSIONS.find((each) => each.number === number) ?? DEFAULT_VERSION,
    principal: { subject, scopes: new Set(scopes), scheme, expiresAt: undefined },
    run: undefined,
    body: value === null ? undefined : { type: JSON_TYPE, value, bytes: Buffer.alloc(0) },
  };
}
