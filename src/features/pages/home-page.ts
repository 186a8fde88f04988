import { canSearch } from '../../collection/resource.js';
import type { ScopedCollection } from '../../feature.js';
import { cut, type Html, html } from '../../formats/html.js';
import { attention } from './attention.js';
import { eventsList } from './change-author.js';
import { declarationLink } from './declaration-page.js';
import { newestEvents } from './events-page.js';
import { readListAs } from './inner-read.js';
import { collectionLabel, wordsOf } from './labels.js';
import { isKnown, type PageContent, returnPathOf, SEARCH_EVERYTHING } from './layout.js';
import { linksTo } from './list-table.js';
import { byGroup, countOf, listedFor } from './navigation.js';
import type { Page, PageOptions } from './pages.js';
import { collectionsFor, hasSignIn, mayWrite, signInHref } from './site.js';
import { nameFields } from './title.js';

/** Changes that the first page shows. */
const MAX_CHANGES = 8;
/** Records of each collection that a search over all of them shows. */
const MAX_FOUND = 5;

/** The first page: the collections, the last changes, and the documents for programs; or what a search over all of them finds. */
export const homePage: Page = {
  content: async (shown) => {
    const text = shown.request.query.parameters.get(SEARCH_EVERYTHING)?.trim() ?? '';
    if (text !== '') return searchPage(text, shown);
    const { site, request, json, names } = shown;
    const listed = listedFor(site, request);
    const links = json.links as Readonly<Record<string, string>>;
    const [rows, events, concerns] = await Promise.all([
      Promise.all(listed.map((collection) => row(collection, shown))),
      newestEvents(site, request, MAX_CHANGES),
      attention(shown),
    ]);
    return {
      title: site.name,
      tools: declarationLink(shown, 'Declare a collection'),
      body: html`<div class="cols"><div>${byGroup(listed, (_, at) => rows[at]!).map(([group, items]) => html`<h2>${group}</h2><div class="scroll"><table class="list"><tbody>${items}</tbody></table></div>`)}</div><div>${concerns}${events.length > 0 && html`<h2>Last changes</h2>${await eventsList(names, events)}`}
<h2>For programs</h2>
<ul>${Object.entries(PROGRAMS).map(([name, label]) => links[name] && html`<li><a href="${links[name]}">${label}</a></li>`)}</ul></div></div>`,
    };
  },
};

/** The links of the home document that people follow to learn about the API. */
const PROGRAMS: Readonly<Record<string, string>> = {
  docs: 'Documents of the API',
  openapi: 'OpenAPI',
  errors: 'Codes of errors',
  whoami: 'Who am I',
  health: 'Health',
};

async function row({ resource }: ScopedCollection, { site, request }: PageOptions): Promise<Html> {
  const { name, prefix, schema, singular } = resource;
  // Under access rules each caller has a number of its own.
  const own = () => readListAs(site, request, `/${name}`, { limit: '1' });
  const total = (await countOf(site, request, resource)) ?? (await own())?.total;
  const add =
    mayWrite(site, request, resource, 'POST') &&
    html`<a href="${prefix}/${name}?_new">New ${wordsOf(singular)}</a>`;
  return html`<tr><th scope="row"><a href="${prefix}/${name}">${collectionLabel(name)}</a></th><td class="number badge" data-label="Records">${total?.toLocaleString('en')}</td><td class="dim">${String(schema.description ?? '')}</td><td class="nw">${add}</td></tr>\n`;
}

/** The first records of each collection in which a search finds something. */
async function searchPage(text: string, { site, request, names }: PageOptions): Promise<PageContent> {
  const searched = collectionsFor(site, request.principal).filter(({ resource }) => canSearch(resource));
  const found = await Promise.all(
    searched.map(async ({ resource }) => {
      const { name, prefix } = resource;
      const query = { search: text, limit: String(MAX_FOUND), ...nameFields(resource) };
      const list = await readListAs(site, request, `/${name}`, query);
      if (!list || list.data.length === 0) return undefined;
      await names.readFor(resource, list.data);
      const all = `${prefix}/${name}?${new URLSearchParams({ search: text })}`;
      return html`<h2><a href="${all}">${collectionLabel(name)}</a> <span class="dim">${list.total.toLocaleString('en')}</span></h2>
${linksTo(resource, list.data, names)}`;
    }),
  );
  const isStranger = hasSignIn(site) && !isKnown(request.principal);
  const nothing = isStranger
    ? html`Nothing is found without <a href="${signInHref(site, returnPathOf(request))}">signing in</a>.`
    : 'Nothing is found. Each collection searches in the texts that its declaration names.';
  return {
    title: `“${cut(text, 60)}”`,
    body: html`${found.some((each) => each) ? found : html`<p>${nothing}</p>`}`,
  };
}
