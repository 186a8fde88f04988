import type { Doc, ErrorName } from '../../api/doc.js';
import type { Description } from '../../api/endpoint.js';
import { parametersIn } from '../../http/query-parameters.js';
import type { JsonObject } from '../../json.js';
import { isByRecord } from '../../policy/policy.js';
import type { Version } from '../../versions/supported.js';
import { parametersOf } from './parameters.js';
import { type Responses, schemaOf, when } from './responses.js';
import { type SecuritySettings, securitySchemes } from './security.js';
import type { DescribedResource } from './type-names.js';

/** The settings on which the operations of all routes depend. */
export interface OperationSettings extends SecuritySettings {
  /** Whether there is a limit of requests. */
  readonly isRateLimited: boolean;
  /** The numbers of the versions that retire. */
  readonly retiring: readonly string[];
  /** The version that is described. */
  readonly version: Version;
  /** Whether a collection has access rules. */
  readonly hasAccessRules: boolean;
  readonly secondFactorScopes: readonly string[];
}

/** An endpoint, with all that it accepts and offers. */
export interface Operation {
  readonly endpoint: Description;
  readonly description: Doc;
  readonly resource: DescribedResource | undefined;
  /** The names of the components that are conditions of its list. */
  readonly filters: readonly string[];
}

/** The object of an operation in the document. */
export function operationObject(
  described: OperationSettings,
  responses: Responses,
  operation: Operation,
): JsonObject {
  const { endpoint, description, resource, filters } = operation;
  const { version } = described;
  const { id, summary, tag, body, success, variants } = description;
  const found = [...(description.errors ?? []), ...errorsOf(described, operation)].map((each) =>
    responses.errorOf(each),
  );
  const statuses = [...new Set(found.map(({ status }) => status))].filter((status) => !(status in success));
  const errors = statuses.map((status): [string, JsonObject] => [
    String(status),
    responses.errors(
      status,
      found.filter((each) => each.status === status),
    ),
  ]);
  const { offers } = endpoint;
  return {
    operationId: id,
    summary,
    tags: [tag],
    parameters: parametersOf({
      path: endpoint.path,
      names: parametersIn(endpoint, version) ?? [],
      description,
      resource,
      filters,
      version,
    }),
    ...bodyOf(body),
    responses: {
      ...successesOf(success, responses, offers),
      ...Object.fromEntries(errors),
      default: responses.errors(
        500,
        CONNECTION_ERRORS.map((each) => responses.errorOf(each)),
      ),
    },
    // Generators of clients ignore `x-variants`, and retain one type of each response.
    ...(variants && {
      'x-variants': variants.map((each) => ({
        summary: each.summary,
        ...bodyOf(each.body),
        responses: successesOf(each.success, responses, []),
      })),
    }),
    security: securityOf(described, endpoint),
  };
}

function bodyOf(body: Doc['body']): JsonObject {
  if (!body) return {};
  const content = Object.entries(body).map(([type, schema]) => [type, { schema: schemaOf(schema) }] as const);
  return { requestBody: { required: true, content: Object.fromEntries(content) } };
}

const successesOf = (
  success: Doc['success'],
  responses: Responses,
  offers: readonly string[] | undefined,
): JsonObject =>
  Object.fromEntries(
    Object.entries(success).map(([status, each]) => [status, responses.success(each, offers)]),
  );

/** Errors of any request, before it reaches an operation. */
const CONNECTION_ERRORS: readonly ErrorName[] = [
  'URI_TOO_LONG',
  'EXPECTATION_FAILED',
  'MISDIRECTED_REQUEST',
  'HEADERS_TOO_LARGE',
  'NOT_IMPLEMENTED',
  'VERSION_NOT_SUPPORTED',
  'INTERNAL_ERROR',
];

/** Errors that follow from what an endpoint requires and accepts. */
function errorsOf(
  { auth, isRateLimited, retiring, version, hasAccessRules, secondFactorScopes }: OperationSettings,
  { endpoint }: Operation,
): ErrorName[] {
  const { method, requires, records, accepts, alwaysAvailable, outlivesVersion } = endpoint;
  const isOpen = auth.length === 0 || requires === 'nothing';
  // A request for records may name others, which need a scope even where these do not.
  const needsScopes = !isOpen && (typeof requires !== 'string' || records !== undefined);
  const isRead = method === 'GET' || method === 'QUERY';
  const hasRules = !isRead && records !== undefined && isByRecord(records.resource);
  // A filter may lead to records of another collection.
  const isFiltered = method === 'QUERY' || parametersIn(endpoint, version)?.includes('filter') === true;
  // A page of another site may not write with what its browser adds on its own.
  const isForged = !isRead && (isOpen || auth.includes('basic') || auth.includes('mtls'));
  return [
    'BAD_REQUEST',
    'UNSUPPORTED_VERSION',
    'VERSION_MISMATCH',
    'SERVICE_UNAVAILABLE',
    ...when(!isOpen, 'UNAUTHORIZED'),
    ...when(needsScopes, 'INSUFFICIENT_SCOPE'),
    ...when(needsScopes && secondFactorScopes.length > 0, 'SECOND_FACTOR_REQUIRED'),
    ...when(hasRules, 'ACCESS_DENIED'),
    ...when(
      (hasRules && method !== 'DELETE') || (isFiltered && hasAccessRules && requires !== 'nothing'),
      'FIELDS_DENIED',
    ),
    ...when((isRateLimited && !alwaysAvailable) || !isOpen, 'RATE_LIMITED'),
    ...when(retiring.includes(version.number) && !outlivesVersion && !alwaysAvailable, 'VERSION_SUNSET'),
    ...when(isForged, 'ORIGIN_NOT_ALLOWED'),
    'NOT_ACCEPTABLE',
    ...when(parametersIn(endpoint, version) !== undefined, 'UNKNOWN_PARAMETER'),
    ...when((parametersIn(endpoint, version) ?? []).length > 0, 'INVALID_QUERY'),
    ...when(accepts !== undefined, 'UNSUPPORTED_MEDIA_TYPE', 'PAYLOAD_TOO_LARGE'),
    ...when(accepts !== undefined, 'REQUEST_TIMEOUT', 'VALIDATION_ERROR'),
  ];
}

/** Any one of the accepted credentials. */
function securityOf(described: OperationSettings, { requires }: Description): JsonObject[] {
  if (described.auth.length === 0 || requires === 'nothing') return [];
  const scopes = typeof requires === 'string' ? [] : [...requires.scopes];
  const schemes = Object.entries(securitySchemes(described, [])).map(
    ([name, scheme]): JsonObject => ({ [name]: (scheme as JsonObject).type === 'oauth2' ? scopes : [] }),
  );
  return requires === 'optional' ? [{}, ...schemes] : schemes;
}
