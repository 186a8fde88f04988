import type { CATALOGUE } from './catalogue.js';
import type { Shape } from './error-description.js';

/** The stable codes on which clients may rely. `<PARENT>_NOT_FOUND` is USER_NOT_FOUND for users. */
export type Code = keyof typeof CATALOGUE | `${string}_NOT_FOUND` | `${string}_TAKEN`;

/** The status of a code. */
type StatusOf<C extends Code> = C extends keyof typeof CATALOGUE ? (typeof CATALOGUE)[C]['status'] : number;

/** One violation of the rules for a body; `path` is a JSON Pointer (RFC 6901) into the body. */
export interface Failure {
  readonly path: string;
  readonly message: string;
  readonly keyword: string;
}

/** A condition with a defined response. Anything else that is thrown is a 500. Not an Error, since a stack is slow to make. */
export class Problem<C extends Code = Code> {
  readonly status: number;
  /** The rendered body, so that a problem that is thrown repeatedly is rendered once. */
  body: string | undefined;

  constructor(
    status: StatusOf<C>,
    readonly code: C,
    readonly message: string,
    readonly more: {
      details?: unknown;
      headers?: readonly string[];
      shape?: Shape;
      /** The required scopes, for the challenge of a 403. */
      scope?: string;
    } = {},
  ) {
    this.status = status;
  }
}
