import { secretReply } from '../../actions/secret-reply.js';
import { at, type Endpoint } from '../../api/endpoint.js';
import type { Config } from '../../config/config.js';
import { JSON_TYPE } from '../../http/media-types.js';
import { mountOf, VERSIONS } from '../../versions/supported.js';

/** No collection can have this name. */
export const VERSIONS_PATH = '/api-versions';

/** The endpoint of the page with the versions of the API, and the dates on which each retires. No document mentions it. */
export const versionsEndpoint = ({ retirement, publicPrefix }: Config): Endpoint => ({
  ...at('GET', VERSIONS_PATH, { scopes: ['admin'] }),
  offers: [JSON_TYPE],
  parameters: [],
  run: () => {
    const data = VERSIONS.map((version) => {
      const { deprecation = null, sunset = null } = retirement[version.number] ?? {};
      const path = mountOf(version, publicPrefix);
      return { path, deprecation, sunset, href: `${path}/openapi.json?_format=json` };
    });
    return secretReply(200, { data });
  },
});
