import { html } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { eventsList } from './change-author.js';
import { type Caller, readAs } from './inner-read.js';
import type { Page } from './pages.js';
import type { Site } from './site.js';

const MAX_EVENTS = 50;

/** The newest events, the last one first. The address may select some as for the API. */
export const eventsPage: Page = {
  query: ({ parameters }) => {
    const given = new URLSearchParams(parameters);
    given.set('after', 'now');
    return String(given);
  },
  content: async ({ site, request, names }) => {
    const events = await newestEvents(site, request, MAX_EVENTS, request.query.parameters);
    return {
      title: 'Changes',
      body: events.length === 0 ? html`<p>No events among the newest.</p>` : await eventsList(names, events),
    };
  },
};

/** Positions of the feed to look through for each event that is shown: a caller may see one of a hundred. */
const WIDTH = 100;

/**
 * The newest events that a caller may read and a query of the feed selects, the last one first: up to `most`, among the newest
 * positions. Empty if the service has no feed.
 */
export async function newestEvents(
  site: Site,
  caller: Caller,
  most: number,
  query?: URLSearchParams,
): Promise<readonly JsonObject[]> {
  const { feed } = site;
  if (!feed) return [];
  const { after: oldest } = await feed.start(undefined);
  for (let positions = WIDTH * most; ; positions /= 2) {
    const from = Math.max(oldest, feed.follower.horizon() - Math.ceil(positions));
    const given = new URLSearchParams(query);
    given.set('after', feed.cursorOf(from));
    given.set('limit', String(10 * most));
    const json = await readAs(site, caller, '/events', given);
    if (!json) return [];
    const { data, meta } = json as unknown as { data: JsonObject[]; meta: { more: boolean } };
    // The first part of more events does not have the newest ones.
    if (!meta.more || positions <= 1) return data.slice(-most).reverse();
  }
}
