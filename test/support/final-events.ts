import type { TestService } from './service.js';
import { until } from './until.js';

/** Waits until the feed shows all stored events: transactions of others on the PostgreSQL server may delay them. */
export async function whenEventsAreFinal({ feed }: Pick<TestService, 'feed'>): Promise<void> {
  const { follower } = feed!;
  await until(
    'all events are final',
    async () => (await follower.look()).newest - follower.horizon(),
    (missing) => missing <= 0,
  );
}
