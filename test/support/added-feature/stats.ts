import { json, objectOf } from '../../../src/api/doc.js';
import { at, type Endpoint } from '../../../src/api/endpoint.js';
import type { Db, Run } from '../../../src/db/db.js';
import { statements } from '../../../src/db/statements.js';
import { single } from '../../../src/telemetry/instruments.js';
import { noStats } from './errors.js';

const SQL = statements('features/stats/stats.sql', ['add', 'sum']);

/** The number of all requests to /stats. */
export const total = async (run: Run): Promise<number> => Number((await run(SQL.sum, []))[0]!.requests);

/** Counts the requests to /stats in its table. */
export class Stats {
  readonly metrics = {
    requests: single('plinth_stats_requests_total', 'Requests to /stats of this process.', 'counter'),
  };

  constructor(readonly db: Db) {}

  async count(): Promise<number> {
    this.metrics.requests.value++;
    await this.db.run(SQL.add, []);
    return total(this.db.run);
  }
}

export const ENDPOINTS: readonly Endpoint<Stats>[] = [
  {
    ...at('GET', '/stats', 'nothing'),
    homeLink: { name: 'stats', position: 20 },
    doc: {
      id: 'getStats',
      tag: 'stats',
      summary: 'Count the requests to /stats',
      success: { 200: json('The number of requests.', 'Stats', ['Cache-Control']) },
      errors: ['NO_STATS'],
      query: { past: { type: 'string' } },
    },
    schemas: () => ({ Stats: objectOf({ requests: { type: 'integer' } }) }),
    run: async (stats, { query }) => {
      if (query.parameters.has('past') && (await total(stats.db.run)) === 0) throw noStats();
      const body = JSON.stringify({ requests: await stats.count() });
      const headers = ['Content-Type', 'application/json', 'Cache-Control', 'no-store'];
      return { status: 200, headers, body };
    },
  },
];
