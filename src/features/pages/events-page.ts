import type { Feed } from '../../feature.js';
import { type Html, html } from '../../formats/html.js';
import { isObject, type JsonObject } from '../../json.js';
import { actorHtml, actorOf, eventTitle, readEventNames } from './change-author.js';
import type { Names } from './names.js';
import type { Page } from './pages.js';
import { collectionsFor } from './site.js';
import { timeHtml } from './values.js';

const LIMIT = 50;
/** The parameter of the link to the oldest events. */
const OLDEST = '_oldest';

/** The newest events, the last one first; or in the order of the feed the oldest ones, or the events after a cursor. */
export const eventsPage: Page = {
  query: async (query, { feed }) => {
    const given = new URLSearchParams(query.parameters);
    if (isNewest(given)) await startAtNewest(given, feed!);
    given.delete(OLDEST);
    if (given.get('types') === '') given.delete('types');
    if (!given.has('limit')) given.set('limit', String(LIMIT));
    return String(given);
  },
  content: async (shown) => {
    const { site, request, json, names } = shown;
    const path = `${site.prefix}${request.path}`;
    const { data, meta, links } = json as unknown as EventsJson;
    const types = request.query.parameters.get('types') ?? '';
    const rest = [...request.query.parameters]
      .filter(([name, value]) => (name === 'types' && value !== '') || name.startsWith('filter['))
      .map(([name, value]) => `&${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
      .join('');
    await readEventNames(names, data);
    return {
      title: 'Events',
      crumbs: [{ text: 'Home', href: `${site.prefix}/` }, { text: 'events' }],
      body: html`${typesForm(
        path,
        types,
        collectionsFor(site, request.principal).map(({ resource }) => resource.name),
      )}
${data.length === 0 ? html`<p>No events.</p>` : table(isNewest(request.query.parameters) ? data.toReversed() : data, names)}
<nav class="pages" aria-label="Pages"><a href="${`${path}?${OLDEST}=1${rest}`}">oldest</a> ${meta.more && html`<a href="${links.next}">next</a> `}<a href="${rest === '' ? path : `${path}?${rest.slice(1)}`}">newest</a></nav>`,
    };
  },
};

interface EventsJson {
  readonly data: readonly JsonObject[];
  readonly meta: { readonly cursor: string; readonly more: boolean };
  readonly links: { readonly next: string };
}

const isNewest = (given: URLSearchParams): boolean => !given.has('after') && !given.has(OLDEST);

/** Sets the position of the newest events, or of the oldest ones if there are few. */
async function startAtNewest(given: URLSearchParams, feed: Feed): Promise<void> {
  const { after } = await feed.start(undefined);
  const position = feed.follower.horizon() - LIMIT;
  if (position > after) given.set('after', feed.cursorOf(position));
}

function typesForm(path: string, types: string, collections: readonly string[]): Html {
  const known = ['', ...collections.map((name) => `${name}.*`)];
  const options = known.includes(types) ? known : [...known, types];
  return html`<form action="${path}"><p class="tools"><label for="types">Types</label>
<select id="types" name="types">${options.map((type) => html`<option value="${type}"${type === types && html` selected`}>${type === '' ? 'all' : type}</option>`)}</select> <button>Show</button></p></form>`;
}

function table(events: readonly JsonObject[], names: Names): Html {
  const rows = events.map((event) => {
    const { time, type, subject, data, previous } = event;
    const version = isObject(data) ? data._version : previous;
    return html`<tr><td class="whole" data-label="Time">${timeHtml(String(time))}</td><td class="whole" data-label="Type">${String(type)}</td><td data-label="Record"><a href="${String(subject)}">${eventTitle(names, event) ?? String(subject)}</a></td><td data-label="By">${actorHtml(names, actorOf(event))}</td><td class="number" data-label="Version">${String(version ?? '')}</td></tr>\n`;
  });
  return html`<div class="scroll"><table class="list"><thead><tr><th scope="col">Time</th><th scope="col">Type</th><th scope="col">Record</th><th scope="col">By</th><th scope="col" class="number">Version</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}
