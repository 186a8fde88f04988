import type { Resource } from '../../collection/resource.js';
import { notFoundCode } from '../../errors/record-errors.js';
import type { Route } from '../../http/router.js';
import type { JsonObject } from '../../json.js';
import { ACCOUNT_DELETION, type Principal, STRANGER } from '../../principal.js';
import { prefixOf } from '../../versions/supported.js';
import type { Version } from '../../versions/version.js';
import {
  CLIENT_OPERATIONS,
  KEY_OPERATIONS,
  VERSION_OPERATIONS,
  WEBHOOK_OPERATIONS,
} from './admin-operations.js';
import { clientSchemas, KEY_SCHEMAS, VERSION_SCHEMAS, webhookSchemas } from './admin-schemas.js';
import { collectionOperations } from './collection-operations.js';
import { COMMON_SCHEMAS } from './common-schemas.js';
import { withExamples } from './examples.js';
import { headersOf } from './headers.js';
import {
  type Descriptions,
  type ErrorRef,
  mayRead,
  mayUse,
  type OperationDescription,
  type Schema,
} from './model.js';
import { type OperationSettings, operationObject } from './operation.js';
import { filterComponents } from './parameters.js';
import type { CollectionSettings } from './record-operations.js';
import { definitions, recordSchemas } from './record-schemas.js';
import { usedComponents } from './references.js';
import { Responses } from './responses.js';
import { securitySchemes } from './security.js';
import { serviceOperations } from './service-operations.js';
import { SERVICE_SCHEMAS } from './service-schemas.js';
import { type DescribedResource, describedResources } from './type-names.js';
import { versionSchemas } from './version-schemas.js';
import { eventWebhooks } from './webhooks.js';

/** What the document is about. */
export interface Described extends OperationSettings, CollectionSettings {
  readonly routes: readonly Route[];
  readonly resources: readonly Resource[];
  readonly publicUrl: string | undefined;
  readonly publicPrefix: string;
  /** The schema of a new OAuth client. */
  readonly clientInput: Schema | undefined;
}

/** The OpenAPI 3.1 document of the operations that a caller may use. */
export function openApi(described: Described, caller: Principal): JsonObject {
  const { publicUrl = '', publicPrefix, version } = described;
  const resources = describedResources(described.resources, reservedNames(described));
  const descriptions = describeAll(described, resources);
  const responses = new Responses(commonHeaders(described), version);
  const all = described.routes.flatMap(({ path, actions, handler }) =>
    Object.entries(handler ? {} : actions).flatMap(([method, endpoint]) => {
      const description = descriptions[`${method} ${path}`];
      return description ? [{ path, method, endpoint, description }] : [];
    }),
  );
  const operations = all.filter(({ endpoint }) => mayUse(caller, endpoint.requires));
  const paths: Record<string, JsonObject> = {};
  for (const { path, method, endpoint, description } of operations) {
    const template = path.replace(/:(\w+)/g, '{$1}');
    const resource = resources.find(({ name }) => name === description.tag);
    // OpenAPI 3.1 has no place for QUERY.
    const key = method === 'QUERY' ? 'x-query' : method.toLowerCase();
    paths[template] ??= {};
    paths[template][key] = operationObject(described, responses, {
      method,
      path,
      endpoint,
      description,
      resource,
    });
  }
  const tags = [...new Set(operations.map(({ description }) => description.tag))];
  const schemas = schemasOf(described, resources);
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Plinth',
      version: `${version.number}.0.0`,
      description: descriptionOf(version) + missingOf(all.length - operations.length, caller),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: `${publicUrl}${prefixOf(version, publicPrefix)}` || '/' }],
    tags: tags.map((name) => ({ name, description: tagDescription(name, resources) })),
    paths,
    ...eventWebhooks(resources.filter(({ scopes }) => mayRead(caller, scopes.read))),
    components: {
      schemas,
      parameters: Object.assign({}, ...resources.map(filterComponents)) as JsonObject,
      responses: responses.components,
      headers: headersOf(version),
      securitySchemes: securitySchemes(described, scopesIn(described.routes)),
    },
  };
  return withExamples(usedComponents(document as unknown as JsonObject));
}

const descriptionOf = ({ number, mount, links }: Version): string =>
  links === 'root'
    ? `Each path is also available below ${mount}. HEAD is supported wherever GET is.`
    : `At the root address, a request with \`API-Version: ${number}\` has this version, too. HEAD is supported wherever GET is.`;

/** What the document says of operations that it does not have. */
function missingOf(count: number, caller: Principal): string {
  if (count === 0) return '';
  const missing = `\n\n${count} operations are missing here, since this document has only what its caller may use.`;
  return caller === STRANGER
    ? `${missing} It was requested without a credential. A request for it with one shows the operations that the credential permits: \`Authorization: Bearer <token>\` or \`X-API-Key: <key>\`, as the service supports.`
    : `${missing} The credential with which it was requested has no scope for them.`;
}

function scopesIn(routes: readonly Route[]): string[] {
  const endpoints = routes.flatMap(({ actions }) => Object.values(actions));
  const named = endpoints.flatMap(({ requires }) => (typeof requires === 'string' ? [] : requires.scopes));
  return [...new Set([...named, 'self', ACCOUNT_DELETION])].sort();
}

const TAGS: Readonly<Record<string, string>> = {
  service: 'The service itself: documents, errors, health.',
  events: 'The feed of changes.',
  keys: 'API keys and client certificates.',
  webhooks: 'Webhooks and their deliveries.',
  versions: 'Versions of the API, and who calls them.',
  batch: 'Several operations in one transaction.',
  clients: 'Clients of the authorization server.',
  authorization: 'The authorization server.',
};

function tagDescription(name: string, resources: readonly Resource[]): string {
  const text = resources.find((each) => each.name === name)?.schema.description;
  return typeof text === 'string' ? text : (TAGS[name] ?? `Records of ${name}.`);
}

function describeAll(described: Described, resources: readonly DescribedResource[]): Descriptions {
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
    VERSION_OPERATIONS,
    WEBHOOK_OPERATIONS,
    CLIENT_OPERATIONS,
    ...ofCollections,
  ) as Descriptions;
}

function schemasOf(described: Described, resources: readonly DescribedResource[]): Record<string, Schema> {
  return Object.assign(
    serviceSchemas(described),
    ...resources.flatMap((resource) => [recordSchemas(resource, described.version), definitions(resource)]),
  ) as Record<string, Schema>;
}

/** The schemas that are not about collections. */
function serviceSchemas({ resources, clientInput, version }: Described): Record<string, Schema> {
  return {
    ...COMMON_SCHEMAS,
    ...versionSchemas(version),
    ...SERVICE_SCHEMAS,
    ...KEY_SCHEMAS,
    ...VERSION_SCHEMAS,
    ...webhookSchemas(resources.map(({ name }) => name)),
    ...(clientInput ? clientSchemas(clientInput) : {}),
  };
}

/** The names that types of collections cannot have: those of other schemas, and of what other operations are about. */
function reservedNames(described: Described): string[] {
  const operations = Object.values({
    ...serviceOperations([]),
    ...KEY_OPERATIONS,
    ...VERSION_OPERATIONS,
    ...WEBHOOK_OPERATIONS,
    ...CLIENT_OPERATIONS,
  }) as OperationDescription[];
  const subjects = operations.map(({ id }) => id.replace(/^[a-z]+(?=[A-Z])/, ''));
  return [...new Set([...Object.keys(serviceSchemas(described)), ...subjects])];
}

const commonHeaders = ({ isRateLimited, retiring, version, databaseReadUrl }: Described): string[] => [
  'X-Request-Id',
  'API-Version',
  ...(databaseReadUrl === undefined ? [] : ['Write-Position']),
  ...(isRateLimited ? ['RateLimit', 'RateLimit-Policy'] : []),
  ...(retiring.includes(version.number) ? ['Deprecation', 'Sunset', 'Link'] : []),
];
