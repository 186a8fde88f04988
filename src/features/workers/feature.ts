import cluster from 'node:cluster';
import type { Feature } from '../../feature.js';

/** Processes that share the port. */
export default {
  serve: async (config, log, isQuiet, features) => {
    if (!cluster.isWorker) return (await import('./primary.js')).runPrimary(config, log, isQuiet, features);
    await (await import('./worker.js')).runWorker(config, log, features);
    return undefined;
  },
} satisfies Feature;
