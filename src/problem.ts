import type { Code } from './codes.js';

/** One condition in a body that breaks the rules; `path` is a JSON Pointer (RFC 6901) into the body. */
export interface Failure {
  readonly path: string;
  readonly message: string;
  readonly keyword: string;
}

/** How the body looks: the spec's envelope, its simple and validation forms, plain text, or none. */
type Shape = 'envelope' | 'simple' | 'validation' | 'text' | 'empty';

/**
 * A condition that has an answer. Everything else that is thrown is a 500. It is no fault of the program, so it is no
 * Error: a stack that nobody reads, and all else that V8 does for one, was a third of what a 404 costs.
 */
export class Problem {
  /** The body that it had the last time: one that is always the same is made once. */
  body: string | undefined;

  constructor(
    readonly status: number,
    readonly code: Code,
    readonly message: string,
    readonly more: {
      details?: unknown;
      headers?: readonly string[];
      shape?: Shape;
      /** The scopes that a 403 lacks, for its challenge. */
      scope?: string;
    } = {},
  ) {}
}
