import type { Feature } from '../../feature.js';
import { requiring } from '../../http/router.js';

/** The calls of versions of the API that retire. */
export default {
  open: async ({ db, log }) => {
    const { VersionCalls } = await import('./version-calls.js');
    const { listVersionCalls, VERSIONS_PATH } = await import('./list-version-calls.js');
    const { VERSION_CALL_PRUNES } = await import('./version-call-statements.js');
    const calls = new VersionCalls(db, log);
    const list = requiring({ scopes: ['admin'] }, listVersionCalls(calls));
    return {
      routes: () => [{ path: VERSIONS_PATH, actions: { GET: list } }],
      countCall: (version, subject, address) => calls.count(version, subject, address),
      prunes: VERSION_CALL_PRUNES,
      save: () => calls.save(),
      close: () => calls.close(),
    };
  },
} satisfies Feature;
