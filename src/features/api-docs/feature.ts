import type { Feature } from '../../feature.js';
import { isRetiring } from '../../http/api-version.js';
import { COMMANDS } from './commands.js';

/** The documents about the API. */
export default {
  open: async ({ config, collections, feed }) => {
    const { ApiDocuments } = await import('./api-documents.js');
    return new ApiDocuments({
      ...config,
      isRateLimited: config.rateLimit !== undefined,
      retiring: Object.keys(config.retirement).filter((number) => isRetiring(config.retirement[number]!)),
      resources: collections.map(({ resource }) => resource),
      hasEvents: feed !== undefined,
    });
  },
  commands: {
    openapi: {
      ...COMMANDS.openapi,
      group: 'tools',
      run: async (args, io) => (await import('./openapi-command.js')).openApiCommand(args, io),
    },
  },
} satisfies Feature;
