import { at } from '../../api/endpoint.js';
import { type Feature, withPackage } from '../../feature.js';
import { JSON_TYPE } from '../../http/media-types.js';
import type { Action } from '../../http/router.js';

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
    return { services: (_api, recordRouter) => mcp.open(recordRouter()) };
  },
} satisfies Feature<Action['run']>;
