import type { Feed } from '../../feature.js';
import type { Log } from '../../telemetry/log.js';
import type { Source } from './fan-out.js';

/** The outbox as the source of webhooks. Events that expired before they could be read are logged. */
export function sourceOf(feed: Feed, log: Log): Source {
  const { follower } = feed;
  return {
    read: async (run, after, limit) => {
      const { missedUntil, ...read } = await feed.deliveries(run, after, limit);
      if (missedUntil !== undefined)
        log.warn(
          { after, floor: missedUntil },
          'webhooks missed events that expired before they could be read',
        );
      return read;
    },
    end: () => feed.end(),
    look: follower.look,
    watch: follower.watch,
  };
}
