/** A client's request about one record, and the response. Times are from one counter for all clients. */
export interface Operation {
  readonly id: string;
  readonly kind: 'create' | 'read' | 'write' | 'delete';
  readonly began: number;
  readonly ended: number;
  readonly status: number;
  /** The version that the response carried: of what was read or made, or the current one that a refusal named. */
  readonly version?: number;
  /** The value that the response showed at that version. */
  readonly value?: string;
  /** The value that was sent to be written; absent: the value that the response showed. */
  readonly sent?: string;
  /** The version that the request demanded, by If-Match, `_version` or If-None-Match. */
  readonly expected?: number;
}

/** A number later than every time in a history. */
const NEVER = Number.POSITIVE_INFINITY;

/** When a state of a record may have come about and may have ended, as far as the operations tell. */
interface Span {
  readonly version: number;
  readonly value: string | undefined;
  /** Not before: its write had not begun. Not after: its write had its response. */
  readonly from: number;
  readonly settled: number;
}

/**
 * The fault of a history of one record, or undefined when it is linearisable: there is an order of all its operations, each
 * at a moment between its request and its response, in which a plain variable with versions 1, 2, 3 ... and a final deletion
 * would have responded the same. Since every successful write reports its version, that order is known but for reads, and it
 * is enough to check that each operation fits into it.
 */
export function faultOf(operations: readonly Operation[]): string | undefined {
  const spans: Span[] = [];
  for (const operation of operations) {
    if (operation.kind !== 'create' && operation.kind !== 'write') continue;
    if (operation.status < 200 || operation.status > 299) continue;
    const { version, began, ended } = operation;
    const value = operation.sent ?? operation.value;
    if (version === undefined || spans[version]) return describe(operation, 'version made twice, or none');
    if (operation.expected !== undefined && version !== operation.expected + 1)
      return describe(operation, 'not the one after the version demanded');
    spans[version] = { version, value, from: began, settled: ended };
  }
  for (let version = 1; version < spans.length; version++) {
    if (!spans[version]) return `version ${version} was never written, and ${spans.length - 1} was`;
    if (version > 1 && spans[version]!.settled < spans[version - 1]!.from)
      return `version ${version} was confirmed before ${version - 1} was requested`;
  }
  const deletes = operations.filter(({ kind, status }) => kind === 'delete' && status === 204);
  const firstDelete = {
    from: Math.min(NEVER, ...deletes.map(({ began }) => began)),
  };
  const doubtful = conditionalDeleteFault(operations, spans);
  if (doubtful) return doubtful;
  const firstAbsent = Math.min(NEVER, ...operations.filter(saysAbsent).map(({ ended }) => ended));
  for (const operation of operations) {
    if (saysPresent(operation) && firstAbsent < operation.began)
      return describe(operation, 'there after it was absent, or after a delete was confirmed');
    const fault = misfit(operation, spans, firstDelete, operations);
    if (fault) return describe(operation, fault);
  }
  return undefined;
}

/** A delete with If-Match tells that it was the one that deleted, and which version: the last there ever is. */
function conditionalDeleteFault(
  operations: readonly Operation[],
  spans: readonly Span[],
): string | undefined {
  const [first, second] = operations.filter(isConditionalDelete);
  if (second) return describe(second, 'deleted what another had deleted');
  if (!first) return undefined;
  const last = spans[first.expected!];
  if (!last || last.from > first.ended) return describe(first, 'deleted a version that nobody had written');
  return spans.length - 1 > first.expected!
    ? describe(first, 'deleted a version that was no longer current')
    : undefined;
}

function isConditionalDelete({ kind, status, expected }: Operation): boolean {
  return kind === 'delete' && status === 204 && expected !== undefined;
}

/** Whether the record was not there when the operation ended. */
function saysAbsent({ kind, status, version }: Operation): boolean {
  return status === 404 || (status === 412 && version === undefined) || (kind === 'delete' && status === 204);
}

/** Whether the record was there at some moment of the operation. */
function saysPresent(operation: Operation): boolean {
  const { status, version } = operation;
  if (status === 412) return version !== undefined;
  return [200, 201, 304, 409].includes(status) || isConditionalDelete(operation);
}

type Moment = { readonly from: number };

function misfit(
  operation: Operation,
  spans: readonly Span[],
  deleted: Moment,
  all: readonly Operation[],
): string | undefined {
  const { kind, status, began, ended, version, value, expected } = operation;
  const seen = spans[version ?? 0];
  if (status === 404) return deleted.from < ended ? undefined : 'absent before any delete began';
  if (status === 412 && version === undefined)
    return deleted.from < ended ? undefined : 'refused as absent before any delete began';
  if (kind === 'delete' && status === 204) return undefined;
  if (!saysPresent(operation)) return `status ${status}`;
  if (!seen) return 'of a version that nobody wrote';
  if (seen.from > ended) return 'of a version not yet requested';
  const shows = status === 200 || status === 201 || value !== undefined;
  if (shows && value !== seen.value) return 'not what was written at that version';
  if ((status === 412 || status === 409) && version === expected)
    return 'refused for the version that was demanded';
  if (status === 304 && version !== expected) return 'not modified, and it was';
  if (kind !== 'create' && later(spans, version!, began) && status !== 201)
    return 'of a version that had been replaced before it began';
  // No operation that began after this response may show an earlier version.
  return goesBack(operation, all);
}

/** Whether a later version had been confirmed before `began`. */
function later(spans: readonly Span[], version: number, began: number): boolean {
  return spans.slice(version + 1).some((span) => span.settled < began);
}

function goesBack({ ended, version }: Operation, all: readonly Operation[]): string | undefined {
  const back = all.find(
    (other) => other.began > ended && other.version !== undefined && other.version < version!,
  );
  return back && `followed by version ${back.version}`;
}

function describe(operation: Operation, fault: string): string {
  return `${fault}: ${JSON.stringify(operation)}`;
}
