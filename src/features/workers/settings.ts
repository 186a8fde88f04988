import { availableParallelism } from 'node:os';
import { FeatureSettings } from '../../config/config.js';

const MAX_WORKERS = 256;

/** `auto`: as many as the cores that this process may use. */
function parseWorkers(text: string): number | undefined {
  if (text === 'auto') return Math.min(availableParallelism(), MAX_WORKERS);
  const value = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  return value >= 1 && value <= MAX_WORKERS ? value : undefined;
}

export const WORKER_SETTINGS = new FeatureSettings({
  read: ({ read }) => ({
    /** Processes that share the port; 1: the service is one process. */
    workers: read('WORKERS', 1, `an integer from 1 to ${MAX_WORKERS}, or \`auto\``, parseWorkers),
  }),
  isOn: ({ workers }) => workers > 1,
  programFaults: ({ workers }) =>
    workers > 1 ? ['WORKERS is for the command plinth: one program is one process'] : [],
  processes: ({ workers }) => workers,
});
