import { ACCOUNT_DELETION, type Requirement, type ScopeRequirement } from '../auth/principal.js';
import type { Resource } from '../collection/resource.js';
import { badRequest } from '../errors/request-errors.js';
import type { Reply } from '../http/reply.js';
import type { HandledRequest, Request } from '../http/request.js';
import type { Action, Offer, OpenEndpoint, Permitted, Route } from '../http/router.js';
import type { Doc, Schema } from './doc.js';
import type { HomeLink, Kind } from './kind.js';

/** The method of an endpoint on records. */
export type RecordMethod =
  | 'list'
  | 'query'
  | 'patchMatching'
  | 'removeMatching'
  | 'create'
  | 'upsert'
  | 'get'
  | 'replace'
  | 'patch'
  | 'remove'
  | 'history'
  | 'listNested'
  | 'queryNested'
  | 'createNested';

/** One method of one path, as data. */
export interface Description extends Offer, Permitted {
  readonly method: 'GET' | 'QUERY' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** A template: `/keys/:id`. */
  readonly path: string;
  /** Responds during maintenance and after the sunset of a version as well, and is not rate limited. */
  readonly alwaysAvailable?: boolean;
  /** Responds after the sunset of a version as well. */
  readonly outlivesVersion?: boolean;
  /** The description in the documents about the API; absent: they do not mention it, unless it is about records. */
  readonly doc?: Doc;
  /** Additions of a feature to the description of an endpoint about records. A header field replaces the one with its name. */
  readonly adds?: Pick<Doc, 'body' | 'success' | 'variants' | 'errors' | 'fields'>;
  /** The endpoint is about the records of a collection. */
  readonly records?: { readonly method: RecordMethod; readonly resource: Resource };
  /** The kind of the things that it lists, which pages and the documents show. */
  readonly kind?: Kind;
  /** The schemas that its description names, in a service with these collections. */
  readonly schemas?: (collections: readonly string[]) => Readonly<Record<string, Schema>>;
  readonly homeLink?: HomeLink;
  /** Neither pages nor batches know it. */
  readonly isSeparate?: boolean;
  /** The things that a batch cannot manage, since a stored response must not have secrets. */
  readonly notInBatch?: string;
  /** A repeat with the same Idempotency-Key gets the first response. Absent: the action decides. */
  readonly isOnce?: boolean;
  /** The feature that adds it; absent: the core. */
  readonly feature?: string;
}

/** One method of one path: its description, and one of three ways to run it with the open services of its owner. */
export interface Endpoint<Services = unknown> extends Description {
  run?(services: Services, request: Request): Promise<Reply> | Reply;
  /** For what is compiled at the start: the action that runs. */
  open?(services: Services): Action;
  /** For a path that is no resource: handles requests without their stages, those of each method of the path. */
  handle?(services: Services, request: HandledRequest): Promise<Reply | undefined>;
}

/** The method, the path and the requirement of an endpoint. */
export const at = (method: Description['method'], path: string, requires: Requirement) => ({
  method,
  path,
  requires,
});

/** The scopes that endpoints require, and those of users. */
export function scopesOf(endpoints: readonly Description[]): string[] {
  const named = endpoints.flatMap(({ requires }) => (typeof requires === 'string' ? [] : requires.scopes));
  return [...new Set([...named, 'self', ACCOUNT_DELETION])];
}

/** An endpoint with the media types and parameters that follow from its documentation, where its description leaves them out. */
export function offerOf<Described extends Description>(described: Described): Described {
  const { doc, method, alwaysAvailable } = described;
  const content = method === 'GET' ? doc?.success[200]?.content : undefined;
  return {
    ...(content && { offers: Object.keys(content) }),
    ...(doc?.body && { accepts: Object.keys(doc.body) }),
    // Probes may have any query: one that failed would take the service out of use.
    ...(!alwaysAvailable && { parameters: Object.keys(doc?.query ?? {}) }),
    ...described,
  };
}

/**
 * The routes of endpoints: one for each path, with the methods in the order of the list. `once` runs an action once for each
 * Idempotency-Key.
 */
export function openRoutes<Services>(
  endpoints: readonly Endpoint<Services>[],
  servicesOf: (endpoint: Endpoint<Services>) => Services,
  once: (action: Action) => Action,
): Route[] {
  const paths = [...new Set(endpoints.map(({ path }) => path))];
  return paths.map((path) => {
    const methods = endpoints.filter((each) => each.path === path);
    const [first] = methods as [Endpoint<Services>];
    const services = servicesOf(first);
    const actions = methods.map((each) => [each.method, openEndpoint(each, servicesOf(each), once)] as const);
    const handler = first.handle && {
      handler: (request: HandledRequest) => first.handle!(services, request),
    };
    return { path, actions: Object.fromEntries(actions), ...handler };
  });
}

function openEndpoint<Services>(
  endpoint: Endpoint<Services>,
  services: Services,
  once: (action: Action) => Action,
): OpenEndpoint {
  const { notInBatch, isOnce } = endpoint;
  const action = endpoint.open?.(services) ?? {
    run: (request: Request) => endpoint.run!(services, request),
  };
  const { run } = isOnce ? once(action) : action;
  return {
    ...offerOf(endpoint),
    ...action,
    run: notInBatch === undefined ? run : (request) => run(separate(request, notInBatch)),
  };
}

/** Throws 400 for a request of a batch, whose response may be stored for a repeat, which that to this one must not. */
function separate(request: Request, what: string): Request {
  if (request.run) throw badRequest(`A batch cannot manage ${what}.`);
  return request;
}

/** An endpoint for operators, or for callers that meet another requirement. */
export const managing = (
  method: Description['method'],
  path: string,
  notInBatch: string,
  doc: Omit<NonNullable<Description['doc']>, 'tag'>,
  requires: Requirement = ADMIN,
): Description => ({ method, path, requires, notInBatch, doc: { ...doc, tag: notInBatch } });

const ADMIN: ScopeRequirement = { scopes: ['admin'] };
