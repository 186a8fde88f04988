import cluster from 'node:cluster';
import type { Feature } from '../../feature.js';
import { WORKER_SETTINGS } from './settings.js';

/** Processes that share the port. */
export default {
  serve: async (config, log, program) => {
    if (!cluster.isWorker) return (await import('./primary.js')).runPrimary(config, log, program);
    await (await import('./worker.js')).runWorker(config, log, program.features);
    return undefined;
  },
  startLines: async (config) => [
    { name: 'workers', text: String(WORKER_SETTINGS.of(config).workers), position: 4 },
  ],
} satisfies Feature;
