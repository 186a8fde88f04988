import { html } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { eventsList } from './change-author.js';
import { optionsOf } from './form-html.js';
import { type Caller, readAs } from './inner-read.js';
import type { Page } from './pages.js';
import { collectionsFor, type Site } from './site.js';

const MAX_EVENTS = 50;

/** The newest events, the last one first. The address may select some as for the API. */
export const eventsPage: Page = {
  query: ({ parameters }) => {
    const given = new URLSearchParams(parameters);
    if (given.get('types') === '') given.delete('types');
    if (!given.has('after')) given.set('after', 'now');
    return String(given);
  },
  content: async ({ site, request, names }) => {
    const types = request.query.parameters.get('types') ?? '';
    const selected = [...request.query.parameters].filter(
      ([name, value]) => (name === 'types' && value !== '') || name.startsWith('filter['),
    );
    const events = await newestEvents(site, request, new URLSearchParams(selected), MAX_EVENTS);
    const known = collectionsFor(site, request.principal).map(({ resource }) => `${resource.name}.*`);
    const options = [...new Set(['', ...known, types])].map((each) => [each, each || 'all'] as const);
    return {
      title: 'Changes',
      body: html`<form class="tools"><label>Types <select name="types">${optionsOf(options, types)}</select></label> <button>Show</button></form>
${events.length === 0 ? html`<p>No events among the newest.</p>` : await eventsList(names, events)}`,
    };
  },
};

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
    const { data, meta } = json as unknown as { data: JsonObject[]; meta: { more: boolean } };
    // The first part of more events does not have the newest ones.
    if (meta.more && found) return found;
    found = data.slice(-most).reverse();
    if (found.length === most || from === oldest) return found;
  }
  return found ?? [];
}
