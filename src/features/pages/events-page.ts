import type { Feed } from '../../feature.js';
import { type Html, html } from '../../formats/html.js';
import { isObject, type JsonObject } from '../../json.js';
import { shortTitleOf } from './labels.js';
import type { Page } from './pages.js';
import { collectionsFor, type Site } from './site.js';
import { timeHtml } from './values.js';

const LIMIT = 50;
/** The parameter of the link to the newest events. */
const NEWEST = '_newest';

/** Events after a cursor, in the order of the feed. */
export const eventsPage: Page = {
  query: async (query, { feed }) => {
    const given = new URLSearchParams(query.parameters);
    if (given.has(NEWEST)) await startAtNewest(given, feed!);
    if (given.get('types') === '') given.delete('types');
    if (!given.has('limit')) given.set('limit', String(LIMIT));
    return String(given);
  },
  content: (shown) => {
    const { site, request, json } = shown;
    const path = `${site.prefix}${request.path}`;
    const { data, meta, links } = json as unknown as EventsJson;
    const types = request.query.parameters.get('types') ?? '';
    const rest = [...request.query.parameters]
      .filter(([name, value]) => (name === 'types' && value !== '') || name.startsWith('filter['))
      .map(([name, value]) => `&${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
      .join('');
    const newest = `${path}?${NEWEST}=1${rest}`;
    return {
      title: 'Events',
      crumbs: [{ text: 'Home', href: `${site.prefix}/` }, { text: 'events' }],
      body: html`${typesForm(
        path,
        types,
        collectionsFor(site, request.principal).map(({ resource }) => resource.name),
      )}
${data.length === 0 ? html`<p>No events.</p>` : table(data, site)}
<nav class="pages" aria-label="Pages"><a href="${rest === '' ? path : `${path}?${rest.slice(1)}`}">oldest</a> ${meta.more && html`<a href="${links.next}">next</a> `}<a href="${newest}">newest</a></nav>`,
    };
  },
};

interface EventsJson {
  readonly data: readonly JsonObject[];
  readonly meta: { readonly cursor: string; readonly more: boolean };
  readonly links: { readonly next: string };
}

/**
 * Sets the position of the newest events, or of the oldest ones if there are few. It is known only when the link is
 * followed: a cursor in the link would expire.
 */
async function startAtNewest(given: URLSearchParams, feed: Feed): Promise<void> {
  given.delete(NEWEST);
  given.delete('after');
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

function table(events: readonly JsonObject[], { collections }: Site): Html {
  const rows = events.map(({ time, type, subject, data, previous }) => {
    const version = isObject(data) ? data._version : previous;
    const name = String(type).split('.', 1)[0];
    const resource = collections.find((each) => each.resource.name === name)?.resource;
    const title = resource && isObject(data) ? shortTitleOf(resource, data) : String(subject);
    return html`<tr><td class="whole" data-label="Time">${timeHtml(String(time))}</td><td class="whole" data-label="Type">${String(type)}</td><td data-label="Record"><a href="${String(subject)}">${title}</a></td><td class="number" data-label="Version">${String(version ?? '')}</td></tr>\n`;
  });
  return html`<div class="scroll"><table class="list"><thead><tr><th scope="col">Time</th><th scope="col">Type</th><th scope="col">Record</th><th scope="col" class="number">Version</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}
