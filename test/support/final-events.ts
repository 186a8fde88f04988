import type { TestService } from './service.js';
import { until } from './until.js';

/** Waits until all stored events are final: transactions of others on the server may delay them. */
export async function whenEventsAreFinal({ db }: Pick<TestService, 'db'>): Promise<void> {
  await until(
    'all events are final',
    async () => {
      const [row] = await db.run(
        `select count(*)::integer as open from events
        where events.xmin::text::bigint >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint`,
        [],
      );
      return Number(row!.open);
    },
    (open) => open === 0,
  );
}
