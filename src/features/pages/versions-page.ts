import { secretReply } from '../../actions/secret-reply.js';
import { at, type Endpoint } from '../../api/endpoint.js';
import type { Core } from '../../app/open-features.js';
import { JSON_TYPE } from '../../http/media-types.js';
import type { JsonObject } from '../../json.js';
import { mountOf, VERSIONS } from '../../versions/supported.js';
import type { PageServices } from './declaration-files.js';

/** No collection can have this name. */
export const VERSIONS_PATH = '/api-versions';

/** The endpoint of the page with the versions, which no document mentions. */
export const VERSIONS_ENDPOINT: Endpoint<PageServices> = {
  ...at('GET', VERSIONS_PATH, { scopes: ['admin'] }),
  offers: [JSON_TYPE],
  parameters: [],
  run: async ({ versions }) => secretReply(200, { data: await versions() }),
};

/** The versions of the API with the requests to all processes for each, and the dates on which each retires. */
export const versionsIn =
  ({ config, metrics, scrape }: Pick<Core, 'config' | 'metrics' | 'scrape'>) =>
  async (): Promise<JsonObject[]> => {
    const { name } = metrics.http.versions.family;
    const { samples = [] } = (await scrape()).find((family) => family.name === name) ?? {};
    return VERSIONS.map((version) => {
      const { number } = version;
      const { deprecation, sunset } = config.retirement[number] ?? {};
      return {
        path: mountOf(version, config.publicPrefix),
        requests: samples.find(({ labels }) => labels.version === number)?.value ?? 0,
        deprecation: deprecation?.toISOString() ?? null,
        sunset: sunset?.toISOString() ?? null,
      };
    });
  };
