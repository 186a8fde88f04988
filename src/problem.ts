/** The stable codes on which clients may rely. `<PARENT>_NOT_FOUND` is USER_NOT_FOUND for users. */
export type Code =
  | 'BAD_REQUEST'
  | 'CERTIFICATE_TAKEN'
  | 'CURRENT_PASSWORD_REQUIRED'
  | 'CURRENT_PASSWORD_WRONG'
  | 'CURSOR_GONE'
  | 'DELIVERY_PENDING'
  | 'DUPLICATE'
  | 'EMAIL_TAKEN'
  | 'EXPECTATION_FAILED'
  | 'GONE'
  | 'HEADERS_TOO_LARGE'
  | 'IDEMPOTENCY_KEY_IN_USE'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'INSUFFICIENT_SCOPE'
  | 'INSUFFICIENT_STORAGE'
  | 'INTERNAL_ERROR'
  | 'INVALID_CURSOR'
  | 'METHOD_NOT_ALLOWED'
  | 'MISDIRECTED_REQUEST'
  | 'NOT_ACCEPTABLE'
  | 'NOT_FOUND'
  | `${string}_NOT_FOUND`
  | 'NOT_IMPLEMENTED'
  | 'PATCH_TEST_FAILED'
  | 'PAYLOAD_TOO_LARGE'
  | 'PRECONDITION_FAILED'
  | 'PRECONDITION_REQUIRED'
  | 'RATE_LIMITED'
  | 'REQUEST_TIMEOUT'
  | 'RESPONSE_TOO_LARGE'
  | 'SERVICE_UNAVAILABLE'
  | 'STORED_RESPONSE_TOO_LARGE'
  | 'TOO_MANY_STREAMS'
  | 'TOO_MANY_WEBHOOKS'
  | 'UNAUTHORIZED'
  | 'UNPROCESSABLE_PATCH'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'UNSUPPORTED_VERSION'
  | 'URI_TOO_LONG'
  | 'VALIDATION_ERROR'
  | 'VERSION_CONFLICT'
  | 'VERSION_MISMATCH'
  | 'VERSION_NOT_SUPPORTED'
  | 'VERSION_SUNSET'
  | 'WEBHOOK_DISABLED';

/** One violation of the rules for a body; `path` is a JSON Pointer (RFC 6901) into the body. */
export interface Failure {
  readonly path: string;
  readonly message: string;
  readonly keyword: string;
}

/** The shape of the body: the specification's envelope, its simple and validation forms, plain text, or no body. */
type Shape = 'envelope' | 'simple' | 'validation' | 'text' | 'empty';

/** A condition with a defined response. Anything else that is thrown is a 500. Not an Error, since a stack is slow to make. */
export class Problem {
  /** The rendered body, so that a problem that is thrown repeatedly is rendered once. */
  body: string | undefined;

  constructor(
    readonly status: number,
    readonly code: Code,
    readonly message: string,
    readonly more: {
      details?: unknown;
      headers?: readonly string[];
      shape?: Shape;
      /** The required scopes, for the challenge of a 403. */
      scope?: string;
    } = {},
  ) {}
}
