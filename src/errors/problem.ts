/** The shape of the body: the specification's envelope, its simple and validation forms, plain text, or no body. */
export type Shape = 'envelope' | 'simple' | 'validation' | 'text' | 'empty';

/** One violation of the rules for a body; `path` is a JSON Pointer (RFC 6901) into the body. */
export interface Failure {
  readonly path: string;
  readonly message: string;
  readonly keyword: string;
}

/** A type of problem (RFC 9457 section 3.1.1), by its code. Clients may rely on codes and statuses, not on texts. */
export interface ProblemType<C extends string = string> {
  readonly code: C;
  readonly status: number;
  readonly shapes: readonly Shape[];
  /** The event in the words of most responses; some say more. */
  readonly message: string;
  readonly cause: string;
  readonly remedy: string;
  /** The end of the codes of this type, which begin with a name: USER_NOT_FOUND. Undefined: the type has one code. */
  readonly suffix: string | undefined;
  /** A problem of this type; `code` is one with the suffix. */
  example(code: string): Problem;
}

/** The parts of a problem that differ between problems of one type. */
export interface Particulars {
  /** Undefined: that of the type. */
  readonly message?: string | undefined;
  readonly details?: unknown;
  readonly headers?: readonly string[] | undefined;
  /** Undefined: the envelope. */
  readonly shape?: Shape;
  /** The required scopes, for the challenge of a 403. */
  readonly scope?: string;
}

/** A condition with a defined response. Anything else that is thrown is a 500. Not an Error, since a stack is slow to make. */
export class Problem {
  /** The rendered body, so that a problem that is thrown repeatedly is rendered once. */
  body: string | undefined;

  constructor(
    readonly status: number,
    readonly code: string,
    readonly message: string,
    readonly more: Particulars = {},
  ) {}
}

/** The problem with a body of this shape. */
export const withShape = ({ status, code, message, more }: Problem, shape: Shape) =>
  new Problem(status, code, message, { ...more, shape });

/** The problem of a part of a body: the paths in its details begin with the path of the part. */
export function below(path: string, { status, code, message, more }: Problem): Problem {
  const moved = (each: unknown): unknown =>
    Object(each).path === undefined ? each : { ...Object(each), path: path + Object(each).path };
  const details = Array.isArray(more.details) ? more.details.map(moved) : moved(more.details);
  return new Problem(status, code, message, { ...more, details });
}

/** The constructor of the problems of one type. */
export interface ProblemConstructor<C extends string = string, A extends unknown[] = never> {
  (...values: A): Problem;
  readonly type: ProblemType<C>;
  /** Another problem of the type. `code` is one with the suffix of the type, whose status may be another. */
  variant(particulars: Particulars, code?: string, status?: number): Problem;
}

/** A row of the table of errors. */
type Row<A extends unknown[]> = Pick<ProblemType, 'message' | 'cause' | 'remedy'> & {
  /** Undefined: the envelope. */
  readonly shapes?: readonly Shape[];
} & (
    | {
        readonly make: (...values: A) => Particulars;
        /** The values for an example. */
        readonly example: A;
      }
    | {
        readonly make?: undefined;
        readonly suffix?: string;
        /** Undefined: all problems of the type are equal. */
        readonly example?: (code: string) => Problem;
      }
  );

/** Defines a type of problem, and returns the constructor of its problems. */
export function define<const C extends string, A extends unknown[] = []>(
  code: C,
  status: number,
  row: Row<A>,
): ProblemConstructor<C, A> {
  const { shapes = ['envelope'], message, cause, remedy } = row;
  const variant = (more: Particulars, ownCode: string = code, ownStatus = status) =>
    new Problem(ownStatus, ownCode, more.message ?? message, more);
  const create: (...values: A) => Problem = row.make
    ? (...values) => variant(row.make(...values))
    : () => new Problem(status, code, message);
  const type = {
    ...{ code, status, shapes, message, cause, remedy },
    suffix: row.make ? undefined : row.suffix,
    example: row.make ? () => create(...row.example) : (row.example ?? (() => variant({}))),
  };
  return Object.assign(create, { type, variant });
}

/** Makes the particulars of an error about a limit, which the details contain. */
export const limited =
  (textOf: (limit: number) => string) =>
  (limit: number): Particulars => ({ message: textOf(limit), details: { limit } });
