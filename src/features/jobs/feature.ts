import { openIdempotency } from '../../actions/idempotency.js';
import { typesIn } from '../../errors/catalogue.js';
import type { Feature } from '../../feature.js';
import type { Creations } from './create-many.js';
import type { JobServices } from './job-actions.js';
import { JOB_SETTINGS } from './settings.js';

/** Creations of many records by one request, and jobs. */
export default {
  endpoints: async () => (await import('./endpoints.js')).ENDPOINTS,
  errors: async () => typesIn(await import('./errors.js')),
  documentation: { tags: { jobs: 'Work that goes on after its response.' } },
  represent: async (endpoints) => (await import('./job-routes.js')).describeJobs(endpoints),
  open: async ({ config, db, log, collections, databaseUrl, feed }) => {
    const { withJobs } = await import('./job-routes.js');
    const { createJobMetrics } = await import('./metrics.js');
    const { JobLoop } = await import('./job-loop.js');
    const { jobPrunes } = await import('./job-store.js');
    const metrics = createJobMetrics();
    const settings = JOB_SETTINGS.of(config);
    const idempotency = openIdempotency(config.idempotencyTtlSeconds, collections);
    const wrote = () => feed?.follower.wrote();
    const opened = { db, log, collections, databaseUrl, idempotency, metrics, wrote };
    const all = { ...config, ...settings, ...opened };
    let opening: Promise<Creations> | undefined;
    // Loaded on demand, so that a start without it takes less time and memory.
    const load = async () => new (await import('./create-many.js')).Creations(all);
    const loop = new JobLoop(all);
    const jobs: JobServices = { ...all, wake: () => loop.wake() };
    return {
      services: () => jobs,
      represent: (routes, api) => withJobs(routes, api, () => (opening ??= load()), jobs),
      metrics,
      prunes: jobPrunes(settings.jobTtl),
      stop: async (ms) => {
        await Promise.all([loop.stop(), opening?.then((creations) => creations.stop(ms))]);
      },
    };
  },
} satisfies Feature<JobServices>;
