import { type Doc, type Documentation, type Schema, schemaRef } from '../../api/doc.js';
import { type Description, type Endpoint, offerOf, scopesOf } from '../../api/endpoint.js';
import { type Principal, STRANGER } from '../../auth/principal.js';
import type { Resource } from '../../collection/resource.js';
import type { ProblemType } from '../../errors/problem.js';
import { visible } from '../../http/router.js';
import type { Json, JsonObject } from '../../json.js';
import { turn } from '../../limits/turn.js';
import { mayRead } from '../../policy/policy.js';
import { prefixOf, type Version } from '../../versions/supported.js';
import { recordOperation } from './collection-operations.js';
import { filtersOf } from './filter-parameters.js';
import { headersOf } from './headers.js';
import { type Operation, type OperationSettings, operationObject } from './operation.js';
import { batchErrors, type CollectionSettings } from './record-operations.js';
import { definitions, recordSchemas, schemaNames } from './record-schemas.js';
import { Responses } from './responses.js';
import { securitySchemes } from './security.js';
import { SERVICE_SCHEMAS } from './service-schemas.js';
import { type DescribedResource, describedResources } from './type-names.js';
import { versionSchemas } from './version-schemas.js';

/** The subject of the document. */
export interface Described extends OperationSettings, CollectionSettings {
  /** The endpoints of the service. */
  readonly endpoints: readonly Endpoint[];
  /** The endpoints of the core with any settings. */
  readonly possible: readonly Endpoint[];
  /** The types of problems that the service responds with. */
  readonly errorTypes: readonly ProblemType[];
  readonly resources: readonly Resource[];
  /** The schemas to which those of collections refer, by file. */
  readonly sharedSchemas: ReadonlyMap<string, object>;
  readonly publicUrl: string | undefined;
  readonly publicPrefix: string;
  /** The texts of the features of the service. */
  readonly documentation: readonly Documentation[];
  /** The names of types of features that the program has. */
  readonly typeNames: readonly string[];
}

/** The OpenAPI 3.1 document of the operations that a caller may use. It takes long, and is made in parts. */
export async function openApi(described: Described, caller: Principal): Promise<JsonObject> {
  const { publicUrl = '', publicPrefix, version, endpoints } = described;
  const resources = describedResources(described, reservedNames(described), caller);
  const hasErrorPages = described.documentation.some((each) => each.hasErrorPages);
  const responses = new Responses(commonHeaders(described), version, described.errorTypes, hasErrorPages);
  const readable = resources.filter((resource) => mayRead(resource, caller));
  const seen = resources.filter(({ name }) =>
    endpoints.some((each) => each.records?.resource.name === name && visible(caller, each)),
  );
  const filters = await filtersOf(resources);
  const all = endpoints.flatMap((endpoint): Operation[] => {
    const resource = resources.find(({ name }) => name === endpoint.records?.resource.name);
    const description = descriptionOf(endpoint, resource, seen, described);
    const names = Object.keys(filters.get(resource?.name ?? '') ?? {});
    return description ? [{ endpoint: offerOf(endpoint), description, resource, filters: names }] : [];
  });
  const operations = all.filter(({ endpoint }) => visible(caller, endpoint));
  const paths: Record<string, JsonObject> = {};
  for (const operation of operations) {
    const { path, method } = operation.endpoint;
    const template = path.replace(/:(\w+)/g, '{$1}');
    // OpenAPI 3.1 has no place for QUERY.
    const key = method === 'QUERY' ? 'x-query' : method.toLowerCase();
    paths[template] ??= {};
    paths[template][key] = operationObject(described, responses, operation);
    await turn();
  }
  const tags = [...new Set(operations.map(({ description }) => description.tag))];
  const schemas = schemasOf(described, resources);
  await turn();
  const document: unknown = {
    openapi: '3.1.0',
    info: {
      title: 'Plinth',
      version: `${version.number}.0.0`,
      description: addressesOf(version) + missingOf(all.length - operations.length, caller),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: `${publicUrl}${prefixOf(version, publicPrefix)}` || '/' }],
    tags: tags.map((name) => ({ name, description: tagDescription(name, resources, described) })),
    paths,
    ...(described.documentation.some(({ sendsEvents }) => sendsEvents) ? eventWebhooks(readable) : {}),
    components: {
      schemas,
      parameters: Object.assign({}, ...filters.values()) as JsonObject,
      responses: responses.components,
      headers: headersOf(version),
      securitySchemes: securitySchemes(described, scopesOf(endpoints).sort()),
    },
  };
  return usedComponents(document as JsonObject);
}

const addressesOf = ({ number, mount, links }: Version): string =>
  links === 'root'
    ? `Each path is also available below ${mount}. HEAD is supported wherever GET is.`
    : `At the root address, a request with \`API-Version: ${number}\` has this version, too. HEAD is supported wherever GET is.`;

/** The sentence about operations that the document does not have. */
function missingOf(count: number, caller: Principal): string {
  if (count === 0) return '';
  const missing = `\n\n${count} operations are missing here, since this document has only what its caller may use.`;
  return caller === STRANGER
    ? `${missing} It was requested without a credential. A request for it with one shows the operations that the credential permits: \`Authorization: Bearer <token>\` or \`X-API-Key: <key>\`, as the service supports.`
    : `${missing} The credential with which it was requested does not permit them.`;
}

const TAGS: Readonly<Record<string, string>> = {
  service: 'The service itself: documents, errors, health.',
  events: 'The feed of changes.',
  keys: 'API keys and client certificates.',
  batch: 'Several operations in one transaction.',
};

function tagDescription(name: string, resources: readonly Resource[], { documentation }: Described): string {
  const text = resources.find((each) => each.name === name)?.schema.description;
  if (typeof text === 'string') return text;
  const known: Readonly<Record<string, string>> = Object.assign(
    {},
    TAGS,
    ...documentation.map(({ tags }) => tags),
  );
  return known[name] ?? `Records of ${name}.`;
}

/**
 * The description of an endpoint in the document; undefined: there is none. `resource`: the collection that it is about. `seen`: the
 * collections with operations that the reader may use.
 */
function descriptionOf(
  { doc, records, adds }: Endpoint,
  resource: DescribedResource | undefined,
  seen: readonly DescribedResource[],
  settings: Described,
): Doc | undefined {
  if (resource) return withAdded(recordOperation(records!.method, resource, settings), adds);
  return doc?.runsOthers ? { ...doc, errors: batchErrors(seen) } : doc;
}

function withAdded(doc: Doc, adds: Endpoint['adds']): Doc {
  if (!adds) return doc;
  const { body, success, variants, errors = [], fields = [] } = adds;
  const nameOf = (field: string) => field.split(' ')[0];
  const others = (doc.fields ?? []).filter((each) => !fields.some((field) => nameOf(field) === nameOf(each)));
  return {
    ...doc,
    ...(body && { body: { ...doc.body, ...body } }),
    success: { ...doc.success, ...success },
    ...(variants && { variants }),
    errors: [...(doc.errors ?? []), ...errors],
    fields: [...others, ...fields],
  };
}

function schemasOf(described: Described, resources: readonly DescribedResource[]): Record<string, Schema> {
  return Object.assign(
    serviceSchemas(described),
    ...resources.flatMap((resource) => [recordSchemas(resource, described.version), definitions(resource)]),
  ) as Record<string, Schema>;
}

/** The schemas that are not about collections. */
function serviceSchemas({ endpoints, resources, version }: Described): Record<string, Schema> {
  const names = resources.map(({ name }) => name);
  return Object.assign(
    { ...versionSchemas(version), ...SERVICE_SCHEMAS },
    ...endpoints.map(({ schemas }) => schemas?.(names)),
  ) as Record<string, Schema>;
}

/** The subjects in the names of operations: generated clients may name types like them. */
export const subjectsOf = (endpoints: readonly Description[]): string[] =>
  endpoints.flatMap(({ doc }) => (doc ? [doc.id.replace(/^[a-z]+(?=[A-Z])/, '')] : []));

/**
 * The names that types of collections cannot have: those of other schemas, and of what other operations are about, with any
 * settings, so that a type retains its name.
 */
function reservedNames(described: Described): string[] {
  const known = [...described.possible, ...described.endpoints];
  return [
    ...new Set([
      ...Object.keys(serviceSchemas({ ...described, endpoints: known })),
      ...subjectsOf(known),
      ...described.typeNames,
    ]),
  ];
}

const commonHeaders = ({ isRateLimited, retiring, version, databaseReadUrl }: Described): string[] => [
  'X-Request-Id',
  'API-Version',
  ...(databaseReadUrl === undefined ? [] : ['Write-Position']),
  ...(isRateLimited ? ['RateLimit', 'RateLimit-Policy'] : []),
  ...(retiring.includes(version.number) ? ['Deprecation', 'Sunset', 'Link'] : []),
];

const VERBS = { created: 'was created', updated: 'was changed', deleted: 'was deleted' } as const;

/** The requests that the service sends to the targets of webhooks, one for each type of event. They have whole records. */
function eventWebhooks(resources: readonly DescribedResource[]): JsonObject {
  const types = resources.flatMap((resource) =>
    Object.entries(VERBS).map(
      ([verb, text]) => [`${resource.name}.${verb}`, webhookOf(resource, verb, text)] as const,
    ),
  );
  return types.length === 0 ? {} : { webhooks: Object.fromEntries(types) };
}

function webhookOf(resource: DescribedResource, verb: string, text: string): JsonObject {
  const { record } = schemaNames(resource);
  const data = verb === 'deleted' ? {} : { properties: { data: schemaRef(record) } };
  return {
    post: {
      operationId: `on${record}${verb[0]!.toUpperCase()}${verb.slice(1)}`,
      summary: `A record of ${resource.name} ${text}.`,
      tags: [resource.name],
      parameters: ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => ({
        name,
        in: 'header',
        required: true,
        schema: { type: 'string' },
      })),
      requestBody: {
        required: true,
        content: {
          'application/cloudevents+json': {
            schema: { allOf: [schemaRef('Event'), { type: 'object', ...data }] },
          },
        },
      },
      responses: {
        '2XX': { description: 'The target has received the event.' },
        '4XX': { description: 'The service attempts the delivery again later.' },
      },
      security: [],
    },
  };
}

/** The document without components to which nothing refers. */
async function usedComponents(document: JsonObject): Promise<JsonObject> {
  const { components, ...rest } = document as {
    components: Record<string, JsonObject>;
    paths?: JsonObject;
  } & JsonObject;
  const used = new Set<string>();
  const { paths = {}, ...others } = rest;
  const pending: Json[] = [others, ...Object.values(paths)];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    for (const [, kind, name] of JSON.stringify(value).matchAll(/"#\/components\/(\w+)\/([\w.-]+)/g)) {
      const key = `${kind}/${name}`;
      const target = components[kind!]?.[name!];
      if (used.has(key) || target === undefined) continue;
      used.add(key);
      pending.push(target);
    }
    await turn();
  }
  const shown = Object.entries(components).map(([kind, entries]) => {
    const isAlwaysUsed = kind === 'securitySchemes';
    const named = Object.entries(entries).filter(([name]) => isAlwaysUsed || used.has(`${kind}/${name}`));
    return [kind, Object.fromEntries(named)] as const;
  });
  return { ...rest, components: Object.fromEntries(shown) };
}
