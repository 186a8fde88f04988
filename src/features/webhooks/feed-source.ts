import { envelopeOf, idOf, pathOfRecord } from '../../events/cloudevents.js';
import { parsePosition, positionText } from '../../events/cursor.js';
import { readEvents } from '../../events/outbox.js';
import type { Feed } from '../../feature.js';
import type { Log } from '../../telemetry/log.js';
import type { Source } from './fan-out.js';

/** The outbox as the source of webhooks. Events that expired before they could be read are logged. */
export function sourceOf(feed: Feed, log: Log): Source {
  const { follower } = feed;
  return {
    read: async (run, after, limit) => {
      const from = after === null ? 0 : parsePosition(after);
      const horizon = follower.horizon();
      const { events, until, floor } = await readEvents(run, { after: from, horizon, limit });
      if (after !== null && from < floor)
        log.warn(
          { after, floor: positionText(floor) },
          'webhooks missed events that expired before they could be read',
        );
      return {
        events: events.map((event) => ({
          id: idOf(event),
          type: event.type,
          recordKey: feed.prefix + pathOfRecord(event),
          body: envelopeOf(event, feed),
        })),
        until: positionText(Math.max(until, floor)),
        more: events.length > 0 && until < horizon,
      };
    },
    end: () => positionText(follower.horizon()),
    look: follower.look,
    watch: follower.watch,
  };
}
