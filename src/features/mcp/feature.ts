import { at, openRoutes } from '../../api/endpoint.js';
import { openRecords } from '../../api/record-actions.js';
import { recordEndpoints } from '../../api/record-endpoints.js';
import { type Feature, withPackage } from '../../feature.js';
import { JSON_TYPE } from '../../http/media-types.js';
import { type Action, createRouter } from '../../http/router.js';

/** The collections for agents, by the Model Context Protocol. */
export default {
  fields: { request: ['MCP-Protocol-Version'] },
  endpoints: async () => [
    {
      ...at('POST', '/mcp', 'credential'),
      isSeparate: true,
      accepts: [JSON_TYPE],
      offers: [JSON_TYPE],
      run: (respond, request) => respond(request),
    },
  ],
  open: async ({ config, collections, sharedSchemas }) => {
    const { Mcp } = await withPackage(import('./mcp.js'), 'MCP=on', '@modelcontextprotocol/sdk');
    const resources = collections.map(({ resource }) => resource);
    const mcp = new Mcp(config, resources, sharedSchemas);
    return {
      services: (api) => {
        // Tools have the requests and responses of this service, whatever other clients have.
        const services = { records: openRecords({ ...api, adapter: undefined }) };
        const routes = openRoutes(recordEndpoints(resources, false, false), () => services);
        return mcp.open(createRouter(routes));
      },
    };
  },
} satisfies Feature<Action['run']>;
