import type { Feature } from '../../feature.js';
import type { VersionCalls } from './version-calls.js';

/** The calls of versions of the API that retire. */
export default {
  endpoints: async () => (await import('./endpoints.js')).ENDPOINTS,
  documentation: { tags: { versions: 'Versions of the API, and who calls them.' } },
  open: async ({ db, log }) => {
    const { VersionCalls } = await import('./version-calls.js');
    const { VERSION_CALL_PRUNES } = await import('./version-call-statements.js');
    const calls = new VersionCalls(db, log);
    return {
      services: () => calls,
      countCall: (version, subject, address) => calls.count(version, subject, address),
      prunes: VERSION_CALL_PRUNES,
      save: () => calls.save(),
      close: () => calls.close(),
    };
  },
} satisfies Feature<VersionCalls>;
