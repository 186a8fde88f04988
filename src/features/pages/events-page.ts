import { html } from '../../formats/html.js';
import { eventsList } from './change-author.js';
import { choiceForm } from './list-table.js';
import { type EventsJson, newestEvents } from './newest-events.js';
import type { Page } from './pages.js';
import { collectionsFor } from './site.js';

const LIMIT = 50;
/** The parameter of the link to the oldest events. */
const OLDEST = '_oldest';

/** The newest events, the last one first; or in the order of the feed the oldest ones, or the events after a cursor. */
export const eventsPage: Page = {
  query: (query) => {
    const given = new URLSearchParams(query.parameters);
    // The page reads the newest events itself, and the action examines the query.
    if (isNewest(given)) given.set('after', 'now');
    given.delete(OLDEST);
    if (given.get('types') === '') given.delete('types');
    if (!given.has('limit')) given.set('limit', String(LIMIT));
    return String(given);
  },
  content: async ({ site, request, json, names }) => {
    const path = `${site.prefix}${request.path}`;
    const { data, meta, links } = json as unknown as EventsJson;
    const given = request.query.parameters;
    const types = given.get('types') ?? '';
    const selected = [...given].filter(
      ([name, value]) => (name === 'types' && value !== '') || name.startsWith('filter['),
    );
    const events = isNewest(given)
      ? await newestEvents(site, request, new URLSearchParams(selected), Number(given.get('limit') ?? LIMIT))
      : data;
    const known = collectionsFor(site, request.principal).map(({ resource }) => `${resource.name}.*`);
    const hrefWith = (...more: [string, string][]) =>
      `${path}?${new URLSearchParams([...selected, ...more])}`;
    return {
      title: 'Changes',
      body: html`${choiceForm(path, 'types', [...new Set(['', ...known, types])], types)}
${events.length === 0 ? html`<p>No events${isNewest(given) && ' among the newest'}.</p>` : await eventsList(names, events)}
<nav class="pages" aria-label="Pages"><a href="${hrefWith([OLDEST, '1'])}">oldest</a> ${meta.more && html`<a href="${links.next}">next</a> `}<a href="${hrefWith()}">newest</a></nav>`,
    };
  },
};

const isNewest = (given: URLSearchParams): boolean => !given.has('after') && !given.has(OLDEST);
