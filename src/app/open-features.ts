import type { Idempotency } from '../actions/idempotency.js';
import type { Documentation } from '../api/doc.js';
import type { Endpoint } from '../api/endpoint.js';
import { coreEndpoints, LAST_ENDPOINTS } from '../api/endpoints.js';
import type { Adapter, Api, Read } from '../api/record-actions.js';
import type { Auth, OwnCredentials } from '../auth/open-schemes.js';
import { SCHEMES } from '../auth/principal.js';
import type { UserOfToken } from '../auth/tokens/access-token.js';
import { knownScopes, scopeSettingFaults } from '../auth/user-scopes.js';
import type { Resource } from '../collection/resource.js';
import { type Config, ConfigError, type FeatureSettings } from '../config/config.js';
import type { RateLimit } from '../config/limit-settings.js';
import type { Db } from '../db/db.js';
import type { PruneTask } from '../db/maintenance.js';
import { noEmbedded, type OpenEmbedded } from '../db/open-database.js';
import { CORE_TYPES } from '../errors/catalogue.js';
import type { Problem, ProblemType } from '../errors/problem.js';
import type { Feed } from '../events/feed.js';
import type { FieldNames } from '../http/cors.js';
import type { ErrorPage } from '../http/reply.js';
import type { ErrorPageRequest } from '../http/request.js';
import type { Route, Router } from '../http/router.js';
import type { ByteBudget } from '../limits/byte-budget.js';
import type { Collection } from '../list/open-collection.js';
import type { ScopedCollection } from '../policy/scoped-collection.js';
import type { Family } from '../telemetry/instruments.js';
import type { Log } from '../telemetry/log.js';
import type { Metrics } from '../telemetry/metrics.js';

/** The parts of the service that are open first. */
export interface Base {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly db: Db;
}

/** The parts of the service that a feature may use. */
export interface Core extends Base {
  /** The address of the database, for connections that a pool has no place for. */
  readonly databaseUrl: string;
  readonly auth: Auth;
  /**
   * Limits what clients do by their addresses, of IPv6 by /56, in all processes together with RATE_LIMIT_STORE=postgres. The returned
   * function counts one more, and resolves to the seconds after which the client may repeat it; undefined: it is within the limit.
   */
  readonly limitAddresses: (
    name: string,
    quota: RateLimit,
  ) => (address: string) => Promise<number | undefined>;
  readonly collections: readonly ScopedCollection[];
  /** The collections in another database with the same records. */
  readonly collectionsOn: (db: Db) => readonly ScopedCollection[];
  /** The scopes that credentials may have. */
  readonly scopes: readonly string[];
  /** The schemas to which those of collections refer, by file. */
  readonly sharedSchemas: ReadonlyMap<string, object>;
  /** Undefined with EVENTS=off. */
  readonly feed: Feed | undefined;
  readonly idempotency: Idempotency;
  /** The bytes of bodies whose requests are not done. */
  readonly bodies: ByteBudget;
  readonly description: ApiDescription;
  /**
   * Serves the declarations as their files are now. Rejects with what is wrong with them, and the service goes on with the former
   * ones. Undefined: the process must be restarted.
   */
  readonly redeclare: (() => Promise<void>) | undefined;
}

/** The API of a service as data, for which nothing is opened. */
export interface ApiDescription {
  readonly endpoints: readonly Endpoint[];
  /** The endpoints that the core has with some settings, besides those of collections. */
  readonly possible: readonly Endpoint[];
  /** The types of problems that the service responds with. */
  readonly errorTypes: readonly ProblemType[];
  /** Header fields of its features that pages of other origins may set or read. */
  readonly fields: readonly FieldNames[];
  /** The texts of its features. */
  readonly documentation: readonly Documentation[];
}

/** A feature of a running service. */
export interface OpenFeature<Services = unknown> {
  /**
   * The services that its endpoints run with. `recordRouter` opens a router of the records alone, with the requests and responses
   * of this service, whatever other programs have.
   */
  services?(api: Api, recordRouter: () => Router): Services;
  /** Gives the routes of the service the representations that the feature has added to their descriptions. */
  represent?(routes: readonly Route[], api: Api): Route[];
  /** The page about an error for a browser; undefined: the body is the same in each media type. */
  errorPage?(request: ErrorPageRequest, problem: Problem): Promise<ErrorPage | undefined>;
  /** Metrics of the feature: names, meanings, and the values at the time of a scrape. */
  readonly metrics?: Readonly<Record<string, { readonly family: Family }>>;
  /** Called with the number of events that expired before it had them. */
  dropped?(events: number): void;
  /** Reads from other servers than the primary. */
  readonly read?: Read;
  /** Gives the collections the requests and responses of another program. */
  readonly adapter?: Adapter;
  /**
   * Called when the transaction of a write of a caller is committed. May add fields to the response. The promise does not
   * reject.
   */
  wrote?(subject: string, fields: string[]): Promise<void>;
  /** Statements that delete its expired rows. Run at intervals. */
  readonly prunes?: readonly PruneTask[];
  /** Ends work of its own while the last requests end; it may take `ms`. */
  stop?(ms: number): Promise<void>;
  /** Called after the last request. */
  close?(): unknown;
}

/** The endpoints that a feature adds to a service with these settings and collections. */
export type EndpointsOf<Services = unknown> = (
  config: Config,
  resources: readonly Resource[],
) => Promise<readonly Endpoint<Services>[]>;

/** Adds the media types of representations to the descriptions of endpoints. */
export type Represent = (
  endpoints: readonly Endpoint[],
  resources: readonly Resource[],
) => Promise<readonly Endpoint[]>;

/** A feature that a service may open. */
export interface Openable {
  readonly name: string;
  /** The settings of the feature; absent: the feature has none. */
  readonly settings?: FeatureSettings;
  /** Whether a service with these collections has the feature; absent: each has it. */
  isFor?(resources: readonly Resource[], config: Config): boolean;
  /** No service opens the feature, which consists of commands or of a way to run them. */
  readonly isOnlyCommands?: true;
  load(): Promise<{ readonly default: Loaded }>;
}

/** The code of a feature, as far as a service uses it. */
export interface Loaded<Services = unknown> {
  /** Opens a server of PostgreSQL, which a service without DATABASE_URL uses. */
  readonly openServer?: OpenEmbedded;
  /** Opens the credentials that it issues, before all that needs callers. */
  openCredentials?(base: Base): OwnCredentials | Promise<OwnCredentials>;
  /** Opens the search for the users that tokens of other issuers mean. */
  openUsersOfTokens?(base: Base, users: () => Collection): Promise<UserOfToken | undefined>;
  /** Opens it in a service. */
  open?(core: Core): OpenFeature<Services> | Promise<OpenFeature<Services>>;
  /** The endpoints that it adds. They run with the `services` of the open feature. */
  readonly endpoints?: EndpointsOf<Services>;
  /** Loads the types of problems that only its endpoints have. */
  errors?(): Promise<readonly ProblemType[]>;
  /** Header fields, of its own or of other endpoints, that pages of other origins may set or read. */
  readonly fields?: FieldNames;
  /** The part of the feature in the documents about the API, besides the descriptions of endpoints. */
  readonly documentation?: Documentation;
  /** Adds the media types of representations to the descriptions of endpoints, which the open feature gives to their routes. */
  readonly represent?: Represent;
}

/** The settings of features. */
export const settingsOf = (features: readonly Openable[]): readonly FeatureSettings[] =>
  features.flatMap(({ settings }) => settings ?? []);

/** Whether a service with these settings and collections has the feature. */
export const isOn = (
  { settings, isOnlyCommands, isFor }: Openable,
  config: Config,
  resources: readonly Resource[] = [],
): boolean => !isOnlyCommands && (settings?.isOn(config) ?? true) && (isFor?.(resources, config) ?? true);

/** The open features of a service by their names, in the order of the list. */
export type OpenFeatures = ReadonlyMap<string, OpenFeature>;

/** A member of the one feature that has it. Throws if several have it. */
export function memberOf<K extends keyof OpenFeature>(
  features: OpenFeatures,
  member: K,
): OpenFeature[K] | undefined {
  const [feature, other] = [...features.values()].filter((each) => each[member] !== undefined);
  if (other) throw new TypeError(`several features have ${member}`);
  return feature?.[member];
}

/** The server of the feature that has one. Throws ConfigError if none of them does. */
export const embeddedOf =
  (features: readonly Openable[]): OpenEmbedded =>
  async (config, log, join) => {
    const open = await openFirst(features, config, ({ openServer }) => openServer);
    return (open ?? noEmbedded)(config, log, join);
  };

/** Opens a part of the service, which at most one feature has. Undefined: none has it. */
export async function openFirst<T>(
  features: readonly Openable[],
  config: Config,
  open: (feature: Loaded) => T | Promise<T | undefined> | undefined,
): Promise<T | undefined> {
  for (const feature of features) {
    if (!isOn(feature, config)) continue;
    const part = await open((await feature.load()).default);
    if (part) return part;
  }
  return undefined;
}

/** Opens the features that the settings turn on. No file of any other is loaded. `closers` receives what closes them. */
export async function openFeatures(
  features: readonly Openable[],
  core: Core,
  closers: (() => unknown)[],
): Promise<OpenFeatures> {
  const open = new Map<string, OpenFeature>();
  const resources = core.collections.map(({ resource }) => resource);
  for (const entry of features) {
    if (!isOn(entry, core.config, resources)) continue;
    const feature = await (await entry.load()).default.open?.(core);
    if (!feature) continue;
    open.set(entry.name, feature);
    core.metrics.add(Object.values(feature.metrics ?? {}).map(({ family }) => family));
    closers.push(async () => {
      await feature.stop?.(0);
      await feature.close?.();
    });
  }
  return open;
}

/** The API of a service with these settings and collections, that of the features that it turns on included. */
export async function describeApi(
  features: readonly Openable[],
  config: Config,
  resources: readonly Resource[],
): Promise<ApiDescription> {
  const on = features.filter((each) => isOn(each, config, resources));
  const loaded = await Promise.all(on.map(async ({ name, load }) => ({ name, ...(await load()).default })));
  const added: Endpoint[] = [];
  const errorTypes: ProblemType[] = [...CORE_TYPES];
  for (const { name, endpoints, errors } of loaded) {
    const own = (await endpoints?.(config, resources)) ?? [];
    added.push(...own.map((each) => ({ ...each, feature: name })));
    errorTypes.push(...((await errors?.()) ?? []));
  }
  const isSeparate = (each: Endpoint) => each.isSeparate === true;
  const first = [...coreEndpoints(config, resources), ...added.filter((each) => !isSeparate(each))];
  let all: readonly Endpoint[] = [...first, ...LAST_ENDPOINTS, ...added.filter(isSeparate)];
  for (const { represent } of loaded) if (represent) all = await represent(all, resources);
  const settings = { auth: SCHEMES, events: true, metricsPort: undefined, anyParameters: false };
  return {
    endpoints: all,
    possible: coreEndpoints(settings, []) as readonly Endpoint[],
    errorTypes,
    fields: loaded.flatMap(({ fields }) => fields ?? []),
    documentation: loaded.flatMap(({ documentation }) => documentation ?? []),
  };
}

/** Collections as this configuration serves them. Throws ConfigError for scopes that there are not. */
export function collectionsFor(config: Config, declared: readonly Resource[]): Resource[] {
  const resources = declared.map((resource) =>
    config.anyParameters ? { ...resource, list: 'array' as const } : resource,
  );
  const faults = scopeSettingFaults(config, knownScopes(resources));
  if (config.anyParameters && resources.some(({ hasRules }) => hasRules))
    faults.push('COMPAT=json-server cannot be combined with access rules');
  if (faults.length > 0) throw new ConfigError(faults);
  return resources;
}
