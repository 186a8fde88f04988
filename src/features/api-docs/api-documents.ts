import type { ApiDescription, OpenFeature } from '../../app/open-features.js';
import type { Principal } from '../../auth/principal.js';
import type { Resource } from '../../collection/resource.js';
import type { Config } from '../../config/config.js';
import type { JsonObject } from '../../json.js';
import { isRetiring, type Version } from '../../versions/supported.js';
import { ISSUER_SETTINGS } from '../issuer/settings.js';
import { REPLICA_SETTINGS } from '../replicas/settings.js';
import type { Described } from './openapi-document.js';

/** The subjects of the documents, besides those that the documents load themselves. */
type DocumentSettings = Omit<Described, keyof ApiDescription | 'version'>;

/** The documents about the API. They are made on request, from modules that are loaded then. */
export class ApiDocuments implements OpenFeature {
  readonly settings: DocumentSettings;

  constructor(
    config: Config,
    resources: readonly Resource[],
    readonly description: ApiDescription,
    sharedSchemas: ReadonlyMap<string, object>,
  ) {
    const { retirement } = config;
    this.settings = {
      ...config,
      databaseReadUrl: REPLICA_SETTINGS.of(config).databaseReadUrl,
      isJsonServer: config.anyParameters,
      authServer: ISSUER_SETTINGS.of(config).authServer,
      resources,
      sharedSchemas,
      isRateLimited: config.rateLimit !== undefined,
      hasAccessRules: resources.some(({ hasRules }) => hasRules),
      retiring: Object.keys(retirement).filter((number) => isRetiring(retirement[number]!)),
      hasEvents: config.events,
      typeNames: [...config.features.keys()].flatMap(({ part }) => part.typeNames ?? []),
    };
  }

  services(): this {
    return this;
  }

  /** The OpenAPI document of what a caller may use in a version. */
  async openApi(caller: Principal, version: Version): Promise<JsonObject> {
    const { settings, description } = this;
    const { openApi } = await import('./openapi-document.js');
    return openApi({ ...settings, ...description, version }, caller);
  }
}
