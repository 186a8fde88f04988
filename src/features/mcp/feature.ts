import { nativeRoutes } from '../../api/record-actions.js';
import type { Feature } from '../../feature.js';
import { createRouter } from '../../http/router.js';
import { withPackage } from '../../process/optional-package.js';

/** The collections for agents, by the Model Context Protocol. */
export default {
  open: async ({ config, collections, sharedSchemas }) => {
    const { Mcp } = await withPackage(import('./mcp.js'), 'MCP=on', '@modelcontextprotocol/sdk');
    const mcp = new Mcp(
      config,
      collections.map(({ resource }) => resource),
      sharedSchemas,
    );
    return { protocolRoutes: ({ api }) => [mcp.route(createRouter(nativeRoutes(api)))] };
  },
} satisfies Feature;
