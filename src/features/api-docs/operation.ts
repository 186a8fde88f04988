import { type OpenEndpoint, parametersIn } from '../../http/router.js';
import type { JsonObject } from '../../json.js';
import type { Version } from '../../versions/version.js';
import { type ErrorRef, error, type OperationDescription } from './model.js';
import { parametersOf } from './parameters.js';
import type { Responses } from './responses.js';
import { type SecuritySettings, securitySchemes } from './security.js';
import type { DescribedResource } from './type-names.js';

/** What the operations of all routes depend on. */
export interface OperationSettings extends SecuritySettings {
  /** Whether there is a limit of requests. */
  readonly isRateLimited: boolean;
  /** The numbers of the versions that retire. */
  readonly retiring: readonly string[];
  /** The version that is described. */
  readonly version: Version;
}

/** One method of one path. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly endpoint: OpenEndpoint;
  readonly description: OperationDescription;
  readonly resource: DescribedResource | undefined;
}

/** The object of an operation in the document. */
export function operationObject(
  described: OperationSettings,
  responses: Responses,
  operation: Operation,
): JsonObject {
  const { path, endpoint, description, resource } = operation;
  const { version } = described;
  const { id, summary, tag, body, success } = description;
  const found = [...(description.errors ?? []), ...errorsOf(described, operation)];
  const statuses = [...new Set(found.map(({ status }) => status))].filter((status) => !(status in success));
  const errors = statuses.map((status): [string, JsonObject] => [
    String(status),
    responses.errors(
      status,
      found.filter((each) => each.status === status),
    ),
  ]);
  const successes = Object.entries(success).map(([status, each]) => [
    status,
    responses.success(each, endpoint.offers),
  ]);
  const content =
    body && Object.fromEntries(Object.entries(body).map(([type, schema]) => [type, { schema }]));
  return {
    operationId: id,
    summary,
    tags: [tag],
    parameters: parametersOf(path, parametersIn(endpoint, version) ?? [], description, resource, version),
    ...(content ? { requestBody: { required: true, content } } : {}),
    responses: {
      ...Object.fromEntries([...successes, ...errors]),
      default: responses.errors(500, CONNECTION_ERRORS),
    },
    security: securityOf(described, endpoint),
  };
}

/** Errors of any request, before it reaches an operation. */
const CONNECTION_ERRORS: readonly ErrorRef[] = [
  error('URI_TOO_LONG'),
  error('EXPECTATION_FAILED'),
  error('MISDIRECTED_REQUEST'),
  error('HEADERS_TOO_LARGE'),
  error('NOT_IMPLEMENTED'),
  error('VERSION_NOT_SUPPORTED'),
  error('INTERNAL_ERROR'),
];

/** Errors that follow from what a route requires and accepts. */
function errorsOf(
  { auth, isRateLimited, retiring, version }: OperationSettings,
  { method, endpoint }: Operation,
): ErrorRef[] {
  const { requires, accepts, alwaysAvailable, outlivesVersion } = endpoint;
  const hasParameters = parametersIn(endpoint, version) !== undefined;
  const isOpen = auth.length === 0 || requires === 'nothing';
  return [
    error('BAD_REQUEST'),
    error('UNSUPPORTED_VERSION'),
    error('VERSION_MISMATCH'),
    error('SERVICE_UNAVAILABLE'),
    ...(isOpen ? [] : [error('UNAUTHORIZED')]),
    ...(isOpen || typeof requires === 'string' ? [] : [error('INSUFFICIENT_SCOPE')]),
    ...((isRateLimited && !alwaysAvailable) || !isOpen ? [error('RATE_LIMITED')] : []),
    ...(retiring.includes(version.number) && !outlivesVersion ? [error('VERSION_SUNSET')] : []),
    ...(isOpen || auth.includes('basic') || auth.includes('mtls') ? originErrors(method) : []),
    error('NOT_ACCEPTABLE'),
    ...(hasParameters ? [error('UNKNOWN_PARAMETER')] : []),
    ...(accepts
      ? [
          error('UNSUPPORTED_MEDIA_TYPE'),
          error('PAYLOAD_TOO_LARGE'),
          error('REQUEST_TIMEOUT'),
          error('VALIDATION_ERROR'),
        ]
      : []),
  ];
}

/** A page of another site may not write with what its browser adds on its own. */
const originErrors = (method: string): ErrorRef[] =>
  method === 'GET' || method === 'QUERY' ? [] : [error('ORIGIN_NOT_ALLOWED')];

/** Any one of the accepted credentials. */
function securityOf(described: OperationSettings, { requires }: OpenEndpoint): JsonObject[] {
  if (described.auth.length === 0 || requires === 'nothing') return [];
  const scopes = typeof requires === 'string' ? [] : [...requires.scopes];
  return Object.entries(securitySchemes(described, [])).map(([name, scheme]) => ({
    [name]: (scheme as JsonObject).type === 'oauth2' ? scopes : [],
  }));
}
