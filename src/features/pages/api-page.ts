import { html } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { collectionLabel } from './labels.js';
import { isKnown } from './layout.js';
import { pairs } from './list-table.js';
import type { Page } from './pages.js';
import { collectionOf } from './site.js';

/** The parameter of the address on which requests can be tried. */
const TRIAL = '_try';

/** The part of an OpenAPI document that the page shows. */
interface ApiDocument {
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;
}

/** The API as the caller may use it. The page of the feature with the documents is for others, and to try requests. */
export const apiPage: Page = {
  source: '/openapi.json',
  other: async ({ request }, get) =>
    isKnown(request.principal) && !request.query.parameters.has(TRIAL) ? undefined : get.run(request),
  content: ({ site, request, json }) => {
    const { tags, paths } = json as unknown as ApiDocument;
    const operations = Object.entries(paths).flatMap(([template, methods]) =>
      Object.entries(methods).map(([method, operation]) => {
        const label = `${method.replace('x-', '').toUpperCase()} ${template}`;
        return { label, summary: String(operation.summary), tags: operation.tags };
      }),
    );
    const subjects = (areCollections: boolean) =>
      tags
        .filter(({ name }) => (collectionOf(site, name) !== undefined) === areCollections)
        .map(({ name, description }) => {
          const own = operations.filter((each) => Array.isArray(each.tags) && each.tags.includes(name));
          return html`<details><summary>${collectionLabel(name)} <span class="dim">${description}</span></summary>
<div>${pairs(own.map(({ label, summary }) => [label, summary]))}</div></details>\n`;
        });
    return {
      title: 'API',
      tools: html`<a class="button" href="${site.prefix}${request.path}?${TRIAL}=1">Try requests</a><a class="button" href="${site.prefix}/openapi.json?_format=json">OpenAPI</a>`,
      body: html`<p>What you may use, as programs use it.</p>
<h2>Collections</h2>${subjects(true)}<h2>The service</h2>${subjects(false)}`,
    };
  },
};
