import { type Html, html } from '../../formats/html.js';
import { isObject, type JsonObject } from '../../json.js';
import { actorHtml, actorOf, eventTitle, readEventNames } from './change-author.js';
import { choiceForm, headCell, tableOf } from './list-table.js';
import type { Names } from './names.js';
import { type EventsJson, newestEvents } from './newest-events.js';
import type { Page } from './pages.js';
import { collectionsFor } from './site.js';
import { timeHtml } from './values.js';

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
  content: async (shown) => {
    const { site, request, json, names } = shown;
    const path = `${site.prefix}${request.path}`;
    const { data, meta, links } = json as unknown as EventsJson;
    const given = request.query.parameters;
    const types = given.get('types') ?? '';
    const selected = [...given].filter(
      ([name, value]) => (name === 'types' && value !== '') || name.startsWith('filter['),
    );
    const rest = selected
      .map(([name, value]) => `&${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
      .join('');
    const events = isNewest(given)
      ? await newestEvents(site, request, new URLSearchParams(selected), Number(given.get('limit') ?? LIMIT))
      : data;
    await readEventNames(names, events);
    const known = collectionsFor(site, request.principal).map(({ resource }) => `${resource.name}.*`);
    return {
      title: 'Changes',
      body: html`${choiceForm(path, 'types', [...new Set(['', ...known, types])], types)}
${events.length === 0 ? html`<p>No events${isNewest(given) && ' among the newest'}.</p>` : table(events, names)}
<nav class="pages" aria-label="Pages"><a href="${`${path}?${OLDEST}=1${rest}`}">oldest</a> ${meta.more && html`<a href="${links.next}">next</a> `}<a href="${rest === '' ? path : `${path}?${rest.slice(1)}`}">newest</a></nav>`,
    };
  },
};

const isNewest = (given: URLSearchParams): boolean => !given.has('after') && !given.has(OLDEST);

function table(events: readonly JsonObject[], names: Names): Html {
  const rows = events.map((event) => {
    const { time, type, subject, data, previous } = event;
    const version = isObject(data) ? data._version : previous;
    return html`<tr><th scope="row"><a href="${String(subject)}">${eventTitle(names, event) ?? String(subject)}</a></th><td class="badge" data-label="Type">${String(type)}</td><td data-label="By">${actorHtml(names, actorOf(event))}</td><td data-label="Time">${timeHtml(String(time))}</td><td class="number" data-label="Version">${String(version ?? '')}</td></tr>\n`;
  });
  return tableOf(
    ['Record', 'Type', 'By', 'Time']
      .map((head) => headCell(head))
      .concat(headCell('Version', undefined, true)),
    rows,
  );
}
