/** The shape of the body: the specification's envelope, its simple and validation forms, plain text, or no body. */
export type Shape = 'envelope' | 'simple' | 'validation' | 'text' | 'empty';

/** What a code means. */
export interface ErrorDescription {
  readonly status: number;
  /** Absent: the envelope. */
  readonly shapes?: readonly Shape[];
  /** What happened, in the words of most responses; some say more. */
  readonly message: string;
  readonly cause: string;
  readonly remedy: string;
}
