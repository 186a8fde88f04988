import type { Resource } from '../collection/resource.js';
import { notFoundCode } from '../errors/record-errors.js';
import type { Route } from '../http/router.js';
import type { JsonObject } from '../json.js';
import type { Principal } from '../principal.js';
import { prefixOf } from '../versions/supported.js';
import type { Version } from '../versions/version.js';
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
import { type Descriptions, type ErrorRef, mayRead, mayUse, type Schema } from './model.js';
import { type OperationSettings, operationObject } from './operation.js';
import type { CollectionSettings } from './record-operations.js';
import { definitions, recordSchemas } from './record-schemas.js';
import { usedComponents } from './references.js';
import { Responses } from './responses.js';
import { securitySchemes } from './security.js';
import { serviceOperations } from './service-operations.js';
import { SERVICE_SCHEMAS } from './service-schemas.js';
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
  const { resources, publicUrl = '', publicPrefix, version } = described;
  const descriptions = describeAll(described);
  const responses = new Responses(commonHeaders(described), version);
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
      version: `${version.number}.0.0`,
      description: descriptionOf(version),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: `${publicUrl}${prefixOf(version, publicPrefix)}` || '/' }],
    tags: tags.map((name) => ({ name, description: tagDescription(name, resources) })),
    paths,
    ...eventWebhooks(resources.filter(({ scopes }) => mayRead(caller, scopes.read))),
    components: {
      schemas,
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
  versions: 'Versions of the API, and who calls them.',
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
    VERSION_OPERATIONS,
    WEBHOOK_OPERATIONS,
    CLIENT_OPERATIONS,
    ...ofCollections,
  ) as Descriptions;
}

function schemasOf({ resources, clientInput, version }: Described): Record<string, Schema> {
  const names = resources.map(({ name }) => name);
  return Object.assign(
    {},
    COMMON_SCHEMAS,
    versionSchemas(version),
    SERVICE_SCHEMAS,
    KEY_SCHEMAS,
    VERSION_SCHEMAS,
    webhookSchemas(names),
    clientInput ? clientSchemas(clientInput) : {},
    ...resources.flatMap((resource) => [recordSchemas(resource, version), definitions(resource)]),
  ) as Record<string, Schema>;
}

const commonHeaders = ({ isRateLimited, retiring, version, databaseReadUrl }: Described): string[] => [
  'X-Request-Id',
  'API-Version',
  ...(databaseReadUrl === undefined ? [] : ['Write-Position']),
  ...(isRateLimited ? ['RateLimit', 'RateLimit-Policy'] : []),
  ...(retiring.includes(version.number) ? ['Deprecation', 'Sunset', 'Link'] : []),
];
