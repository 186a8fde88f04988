import type { Api } from '../../api/record-actions.js';
import { type Principal, type SchemeName, STRANGER } from '../../auth/principal.js';
import type { Resource } from '../../collection/resource.js';
import { usesHttps } from '../../config/parsers.js';
import type { ScopedCollection } from '../../feature.js';
import type { Html } from '../../formats/html.js';
import type { Request } from '../../http/request.js';
import { type Route, visible } from '../../http/router.js';
import { grantsFor, mayRead, type Verb } from '../../policy/policy.js';

/** The facts about the service that pages need. */
export interface Site extends Pick<Api, 'collections' | 'feed'> {
  /** The routes by the templates of their paths: `/keys/:id`. */
  readonly routes: ReadonlyMap<string, Route>;
  /** The numbers of records that pages have read last, and when. */
  readonly counts: Map<string, { readonly at: number; readonly total: Promise<number | undefined> }>;
  /** Precedes the paths of links: PUBLIC_PREFIX. */
  readonly prefix: string;
  /** The path of the first page, after the prefix. */
  readonly home: string;
  /** Undefined: as the request's Host says. */
  readonly publicUrl: string | undefined;
  /** Whether browsers use https. */
  readonly isSecure: boolean;
  /** The enabled schemes; none: no request needs a credential. */
  readonly auth: readonly SchemeName[];
  /** SITE_NAME. */
  readonly name: string;
  /** The elements that load the style and the script. */
  readonly head: Html;
}

/** The first page, if `/` is an application. */
const ADMIN_PATH = '/admin';

/** The service with these routes. */
export function siteOf(
  { collections, feed, settings }: Api,
  routes: readonly Route[],
  look: Pick<Site, 'name' | 'head'>,
): Site {
  const { publicPrefix: prefix, publicUrl, auth } = settings;
  return {
    ...{ collections, feed, prefix, publicUrl, auth, ...look },
    routes: new Map(routes.map((route) => [route.path, route])),
    home: routes.some(({ path }) => path === ADMIN_PATH) ? ADMIN_PATH : '/',
    counts: new Map(),
    isSecure: usesHttps(settings),
  };
}

/** The collections that pages name: those of which the caller may read records. A stranger may sign in. */
export const collectionsFor = ({ collections }: Site, principal: Principal): readonly ScopedCollection[] =>
  collections.filter(({ resource }) => principal === STRANGER || mayRead(resource, principal));

/** The collection of a name, if there is one. */
export const collectionOf = ({ collections }: Pick<Site, 'collections'>, name?: string) =>
  collections.find(({ resource }) => resource.name === name);

/** The collection of the users that sign in, whose ids are the actors of changes. */
export const ownersOf = ({ collections }: Pick<Site, 'collections'>): Resource | undefined =>
  collections.find(({ resource }) => resource.owner)?.resource;

/** Whether a caller may use a method of a path by its scopes; without `params`, perhaps on its own record alone. */
export function mayUse(
  { routes }: Site,
  { principal }: Pick<Request, 'principal'>,
  path: string,
  method = 'GET',
  params?: Request['params'],
): boolean {
  const endpoint = routes.get(path)?.actions[method];
  return endpoint !== undefined && visible(principal, endpoint, params);
}

const VERBS = { POST: 'create', PATCH: 'update', DELETE: 'delete' } satisfies Record<string, Verb>;

/**
 * Whether a caller may write records of a collection: by its scopes and, if there are access rules, by one of them at least.
 * `above` is the record in whose list it does.
 */
export function mayWrite(
  site: Site,
  caller: Pick<Request, 'principal'>,
  resource: Resource,
  method: keyof typeof VERBS,
  above?: string,
): boolean {
  const { name, parent, hasRules } = resource;
  const [path, params] =
    above === undefined ? [`/${name}`, {}] : [`/${parent?.to}/:id/${name}`, { id: above }];
  const isPermitted = !hasRules || grantsFor(resource, VERBS[method], resource, caller.principal).length > 0;
  return isPermitted && mayUse(site, caller, path!, method, params);
}

/** The page on which users of the embedded authorization server sign in. */
export const ACCOUNT_PATH = '/account';

export const hasSignIn = ({ routes }: Site): boolean => routes.has(ACCOUNT_PATH);

/** The address of the page on which users sign in, and from which they return to `target`. */
export const signInHref = ({ prefix }: Site, target: string): string =>
  `${prefix}${ACCOUNT_PATH}?return=${encodeURIComponent(prefix + target)}`;

/** The scheme, host and port of the service for a client with this Host. */
export function originOf({ publicUrl, isSecure }: Site, host: string | undefined): string {
  return publicUrl ?? `${isSecure ? 'https' : 'http'}://${host ?? 'localhost'}`;
}
