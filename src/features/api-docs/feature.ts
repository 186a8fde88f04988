import type { Feature } from '../../feature.js';
import type { ApiDocuments } from './api-documents.js';
import { COMMANDS } from './commands.js';

/** The documents about the API. */
export default {
  endpoints: async () => (await import('./endpoints.js')).DOCUMENT_ENDPOINTS,
  open: async ({ config, collections, sharedSchemas, description }) => {
    const { ApiDocuments } = await import('./api-documents.js');
    return new ApiDocuments(
      config,
      collections.map(({ resource }) => resource),
      description,
      sharedSchemas,
    );
  },
  startLines: async (_config, { url }) => [
    { name: 'documentation', text: `${url}/docs, ${url}/openapi.json`, position: 6 },
  ],
  commands: {
    openapi: {
      ...COMMANDS.openapi,
      group: 'tools',
      run: async (args, io) => (await import('./openapi-command.js')).openApiCommand(args, io),
    },
  },
} satisfies Feature<ApiDocuments>;
