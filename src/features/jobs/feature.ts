import { typesIn } from '../../errors/catalogue.js';
import type { Feature } from '../../feature.js';
import type { Creations } from './create-many.js';
import { JOB_SETTINGS, type JobServices } from './settings.js';

/** Creations of many records by one request, and jobs. */
export default {
  endpoints: async () => (await import('./endpoints.js')).ENDPOINTS,
  errors: async () => typesIn(await import('./errors.js')),
  documentation: { tags: { jobs: 'Work that goes on after its response.' } },
  represent: async (endpoints) => (await import('./job-routes.js')).describeJobs(endpoints),
  open: async ({ config, db, log, collections, databaseUrl, feed, idempotency, bodies }) => {
    const { withJobs } = await import('./job-routes.js');
    const { createJobMetrics } = await import('./metrics.js');
    const { JobLoop } = await import('./job-loop.js');
    const { SQL } = await import('./job-store.js');
    const metrics = createJobMetrics();
    const settings = JOB_SETTINGS.of(config);
    const services: JobServices = {
      ...{ ...config, ...settings, db, log, collections, databaseUrl, idempotency, bodies, metrics },
      wrote: () => feed?.follower.wrote(),
      wake: () => loop.wake(),
    };
    let opening: Promise<Creations> | undefined;
    // Loaded on demand, so that a start without it takes less time and memory.
    const load = async () => new (await import('./create-many.js')).Creations(services);
    const loop = new JobLoop(services);
    return {
      services: () => services,
      represent: (routes, api) => withJobs(routes, api, () => (opening ??= load()), services),
      metrics,
      prunes: [{ text: SQL.prune_jobs, args: [settings.jobTtl] }],
      stop: async (ms) => {
        await Promise.all([loop.stop(), opening?.then((creations) => creations.stop(ms))]);
      },
    };
  },
} satisfies Feature<JobServices>;
