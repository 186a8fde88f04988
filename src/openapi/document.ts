import type { Resource } from '../collection/resource.js';
import { notFoundCode } from '../errors/errors.js';
import type { Endpoint, Route } from '../http/router.js';
import type { JsonObject } from '../json.js';
import type { Principal } from '../principal.js';
import { CLIENT_OPERATIONS, KEY_OPERATIONS, WEBHOOK_OPERATIONS } from './admin-operations.js';
import { clientSchemas, KEY_SCHEMAS, webhookSchemas } from './admin-schemas.js';
import { collectionOperations } from './collection-operations.js';
import { COMMON_SCHEMAS } from './common-schemas.js';
import { withExamples } from './examples.js';
import { HEADERS } from './headers.js';
import {
  type Descriptions,
  type ErrorRef,
  error,
  mayRead,
  mayUse,
  type OperationDescription,
  type Schema,
} from './model.js';
import { parametersOf } from './parameters.js';
import type { CollectionSettings } from './record-operations.js';
import { definitions, recordSchemas } from './record-schemas.js';
import { usedComponents } from './references.js';
import { Responses } from './responses.js';
import { type SecuritySettings, securitySchemes } from './security.js';
import { serviceOperations } from './service-operations.js';
import { SERVICE_SCHEMAS } from './service-schemas.js';
import { eventWebhooks } from './webhooks.js';

/** What the document is about. */
export interface Described extends SecuritySettings, CollectionSettings {
  readonly routes: readonly Route[];
  readonly resources: readonly Resource[];
  readonly publicUrl: string | undefined;
  readonly publicPrefix: string;
  /** Whether there is a limit of requests. */
  readonly isRateLimited: boolean;
  readonly isRetiring: boolean;
  /** The schema of a new OAuth client. */
  readonly clientInput: Schema | undefined;
}

const VERSION = '1.0.0';

/** The OpenAPI 3.1 document of the operations that a caller may use. */
export function openApi(described: Described, caller: Principal): JsonObject {
  const { resources, publicUrl = '', publicPrefix } = described;
  const descriptions = describeAll(described);
  const responses = new Responses(commonHeaders(described));
  const operations = described.routes.flatMap(({ path, actions, handler }) =>
    handler
      ? []
      : Object.entries(actions)
          .filter(([, { requires }]) => mayUse(caller, requires))
          .flatMap(([method, endpoint]) => {
            const description = descriptions[`${method} ${path}`];
            return description ? [{ path, method, endpoint, description }] : [];
          }),
  );
  const paths: Record<string, JsonObject> = {};
  for (const { path, method, endpoint, description } of operations) {
    const template = path.replace(/:(\w+)/g, '{$1}');
    const resource = resources.find(({ name }) => name === description.tag);
    // OpenAPI 3.1 has no place for QUERY.
    const key = method === 'QUERY' ? 'x-query' : method.toLowerCase();
    paths[template] ??= {};
    paths[template][key] = operationObject(described, responses, { path, endpoint, description, resource });
  }
  const tags = [...new Set(operations.map(({ description }) => description.tag))];
  const schemas = schemasOf(described);
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Plinth',
      version: VERSION,
      description: 'Each path is also available below /api/v1. HEAD is supported wherever GET is.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: `${publicUrl}${publicPrefix}` || '/' }],
    tags: tags.map((name) => ({ name, description: tagDescription(name, resources) })),
    paths,
    ...eventWebhooks(resources.filter(({ scopes }) => mayRead(caller, scopes.read))),
    components: {
      schemas,
      responses: responses.components,
      headers: HEADERS,
      securitySchemes: securitySchemes(described, scopesIn(described.routes)),
    },
  };
  return withExamples(usedComponents(document as unknown as JsonObject));
}

function scopesIn(routes: readonly Route[]): string[] {
  const endpoints = routes.flatMap(({ actions }) => Object.values(actions));
  const named = endpoints.flatMap(({ requires }) => (typeof requires === 'string' ? [] : requires.scopes));
  return [...new Set([...named, 'self'])].sort();
}

const TAGS: Readonly<Record<string, string>> = {
  service: 'The service itself: documents, errors, health.',
  events: 'The feed of changes.',
  keys: 'API keys and client certificates.',
  webhooks: 'Webhooks and their deliveries.',
  batch: 'Several operations in one transaction.',
  clients: 'Clients of the authorization server.',
  authorization: 'The authorization server.',
};

function tagDescription(name: string, resources: readonly Resource[]): string {
  const text = resources.find((each) => each.name === name)?.schema.description;
  return typeof text === 'string' ? text : (TAGS[name] ?? `Records of ${name}.`);
}

function describeAll(described: Described): Descriptions {
  const { resources } = described;
  const named = resources.flatMap(({ singular, unique }): ErrorRef[] => [
    { status: 404, code: notFoundCode(singular), shape: 'envelope' },
    { status: 422, code: notFoundCode(singular), shape: 'envelope' },
    ...unique.map(({ code }): ErrorRef => ({ status: 409, code, shape: 'envelope' })),
  ]);
  // Without a scheme for keys, their path only says so.
  const hasKeys = described.routes.some(({ path, actions }) => path === '/keys' && 'POST' in actions);
  const ofCollections = resources.map((resource) => collectionOperations(resource, described));
  return Object.assign(
    {},
    serviceOperations(named),
    hasKeys ? KEY_OPERATIONS : {},
    WEBHOOK_OPERATIONS,
    CLIENT_OPERATIONS,
    ...ofCollections,
  ) as Descriptions;
}

function schemasOf({ resources, clientInput }: Described): Record<string, Schema> {
  const names = resources.map(({ name }) => name);
  return Object.assign(
    {},
    COMMON_SCHEMAS,
    SERVICE_SCHEMAS,
    KEY_SCHEMAS,
    webhookSchemas(names),
    clientInput ? clientSchemas(clientInput) : {},
    ...resources.flatMap((resource) => [recordSchemas(resource), definitions(resource)]),
  ) as Record<string, Schema>;
}

const commonHeaders = ({ isRateLimited, isRetiring }: Described): string[] => [
  'X-Request-Id',
  'API-Version',
  ...(isRateLimited ? ['RateLimit', 'RateLimit-Policy'] : []),
  ...(isRetiring ? ['Deprecation', 'Sunset', 'Link'] : []),
];

interface Operation {
  readonly path: string;
  readonly endpoint: Endpoint;
  readonly description: OperationDescription;
  readonly resource: Resource | undefined;
}

function operationObject(described: Described, responses: Responses, operation: Operation): JsonObject {
  const { path, endpoint, description, resource } = operation;
  const { id, summary, tag, body, success } = description;
  const found = [...(description.errors ?? []), ...errorsOf(described, endpoint)];
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
    parameters: parametersOf(path, endpoint.parameters ?? [], description, resource),
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
function errorsOf({ auth, isRateLimited, isRetiring }: Described, endpoint: Endpoint): ErrorRef[] {
  const { requires, accepts, alwaysAvailable } = endpoint;
  const isOpen = auth.length === 0 || requires === 'nothing';
  return [
    error('BAD_REQUEST'),
    error('UNSUPPORTED_VERSION'),
    error('VERSION_MISMATCH'),
    error('SERVICE_UNAVAILABLE'),
    ...(isOpen ? [] : [error('UNAUTHORIZED')]),
    ...(isOpen || typeof requires === 'string' ? [] : [error('INSUFFICIENT_SCOPE')]),
    ...((isRateLimited && !alwaysAvailable) || !isOpen ? [error('RATE_LIMITED')] : []),
    ...(isRetiring ? [error('VERSION_SUNSET')] : []),
    error('NOT_ACCEPTABLE'),
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

/** Any one of the accepted credentials. */
function securityOf(described: Described, { requires }: Endpoint): JsonObject[] {
  if (described.auth.length === 0 || requires === 'nothing') return [];
  const scopes = typeof requires === 'string' ? [] : [...requires.scopes];
  return Object.entries(securitySchemes(described, [])).map(([name, scheme]) => ({
    [name]: (scheme as JsonObject).type === 'oauth2' ? scopes : [],
  }));
}
