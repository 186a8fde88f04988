import type { JsonObject } from '../../json.js';
import { type Caller, readAs } from './inner-read.js';
import type { Site } from './site.js';

/** Positions of the feed to look through, as multiples of the wanted events: a caller may see few of them. */
const WIDTHS = [1, 8, 64, 200];
const LIMIT = '1000';

/**
 * The newest events that a caller may read and a query of the feed selects, the last one first: up to `most`, among the newest
 * positions. Empty if the service has no feed.
 */
export async function newestEvents(
  site: Site,
  caller: Caller,
  query: URLSearchParams,
  most: number,
): Promise<readonly JsonObject[]> {
  const { feed } = site;
  if (!feed) return [];
  const { after: oldest } = await feed.start(undefined);
  const end = feed.follower.horizon();
  let found: readonly JsonObject[] | undefined;
  for (const width of WIDTHS) {
    const from = Math.max(oldest, end - width * most);
    const given = new URLSearchParams(query);
    given.set('after', feed.cursorOf(from));
    given.set('limit', LIMIT);
    const json = await readAs(site, caller, '/events', given);
    if (!json) return [];
    const { data, meta } = json as unknown as EventsJson;
    // The first part of more events does not have the newest ones.
    if (meta.more && found) return found;
    found = data.slice(-most).reverse();
    if (found.length === most || from === oldest) return found;
  }
  return found ?? [];
}

/** The JSON of a page of the feed. */
export interface EventsJson {
  readonly data: readonly JsonObject[];
  readonly meta: { readonly more: boolean };
  readonly links: { readonly next: string };
}
