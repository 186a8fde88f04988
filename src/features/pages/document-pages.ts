import { mayRead, readsAll } from '../../access/rules.js';
import type { Guarded } from '../../access/scoped-collection.js';
import { html, type Part } from '../../formats/html.js';
import type { Json, JsonObject } from '../../json.js';
import { firstPage } from '../../list/list-request.js';
import type { Crumb } from './layout.js';
import { listTable, recordTable } from './list-table.js';
import type { Page, PageOptions } from './pages.js';
import { collectionsFor, type Site } from './site.js';

const home = ({ site }: PageOptions): Crumb => ({ text: 'Home', href: `${site.prefix}/` });

/** The first page: the collections with their counts, as far as the caller may read them, and the documents. */
export const homePage: Page = {
  content: async ({ site, request, json }) => {
    const links = Object.entries(json.links as Record<string, string>).filter(([name]) =>
      isUseful(name, site),
    );
    const listed = collectionsFor(site, request.principal);
    return {
      title: 'Plinth',
      body: html`<h2>Collections</h2>
<div class="scroll"><table class="list"><thead><tr><th scope="col">name</th><th scope="col" class="number">records</th><th scope="col">description</th></tr></thead>
<tbody>${await Promise.all(listed.map((collection) => row(collection, request)))}</tbody></table></div>
<h2>Documents</h2>
<ul>${links.map(([name, href]) => html`<li><a href="${href}">${name}</a></li>`)}</ul>`,
    };
  },
};

/** Keys exist where they are accepted. */
function isUseful(name: string, { auth }: Site): boolean {
  if (name === 'keys') return auth.includes('api-key') || auth.includes('mtls');
  return name !== 'self';
}

async function row(collection: Guarded, request: PageOptions['request']): Promise<Part> {
  const { name, prefix, schema } = collection.resource;
  const count = await countOf(collection, request);
  const description = typeof schema.description === 'string' ? schema.description : '';
  return html`<tr><td class="text" data-label="name"><a href="${prefix}/${name}">${name}</a></td><td class="number" data-label="records">${count}</td><td class="text" data-label="description">${description}</td></tr>`;
}

/** The number of records that the caller may read; undefined if its scopes permit none, or its own alone. */
async function countOf(
  collection: Guarded,
  { principal, run }: PageOptions['request'],
): Promise<string | undefined> {
  const { resource } = collection;
  if (!(resource.isRuled ? mayRead : readsAll)(resource, principal)) return undefined;
  const { total } = await collection.as({ principal }).page(firstPage(resource, 1), run);
  return total!.toLocaleString('en');
}

/** All codes of errors. */
export const errorsPage: Page = {
  content: (shown) => {
    const rows = (shown.json.data as JsonObject[]).map(({ code, status, message }) => ({
      code: code!,
      status: status!,
      message: message!,
    }));
    const self = `${shown.site.prefix}/errors`;
    return {
      title: 'Errors',
      crumbs: [home(shown), { text: 'errors' }],
      body: listTable(rows, ({ code }, field) => (field === 'code' ? `${self}/${code}` : undefined)),
    };
  },
};

/** One code. */
export const errorCodePage: Page = {
  content: (shown) => {
    const { examples, links: _, ...entry } = shown.json;
    const list = `${shown.site.prefix}/errors`;
    const bodies = Object.entries(examples as JsonObject).map(
      ([type, body]) => html`<h2>Example: ${type}</h2>\n<pre>${shownBody(body!)}</pre>\n`,
    );
    return {
      title: String(entry.code),
      crumbs: [home(shown), { text: 'errors', href: list }, { text: String(entry.code) }],
      body: html`${recordTable(entry)}\n${bodies}<p><a href="${list}">All codes of errors</a></p>`,
    };
  },
};

const shownBody = (body: Json): string => (typeof body === 'string' ? body : JSON.stringify(body, null, 2));

/** The caller. */
export const whoamiPage: Page = {
  content: (shown) => ({
    title: 'Who am I',
    crumbs: [home(shown), { text: 'whoami' }],
    body: html`${recordTable(shown.json)}`,
  }),
};
