import { type Html, html, type Part } from '../../formats/html.js';
import { JSON_TYPE } from '../../http/media-types.js';
import { isObject, type JsonObject } from '../../json.js';
import { collectionLabel } from './labels.js';
import { isKnown, type PageContent } from './layout.js';
import { pairs, tableOf } from './list-table.js';
import type { Page, PageOptions } from './pages.js';

/** The parameters of the address: a subject, and the page on which requests can be tried. */
const [SUBJECT, TRIAL] = ['_subject', '_try'];

interface Operation extends JsonObject {
  readonly summary: string;
  readonly tags: string[];
}

/** The part of an OpenAPI document that the pages show. */
interface ApiDocument {
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonObject>> };
}

/** The API as the caller may use it. The page of the feature with the documents is for others, and to try requests. */
export const apiPage: Page = {
  source: '/openapi.json',
  other: async ({ request }, get) =>
    isKnown(request.principal) && !request.query.parameters.has(TRIAL) ? undefined : get.run(request),
  content: (shown) => {
    const { site, request, json } = shown;
    const document = json as unknown as ApiDocument;
    const subject = document.tags.find(({ name }) => name === request.query.parameters.get(SUBJECT));
    const path = site.prefix + request.path;
    if (subject) return subjectPage(document, subject, path, shown);
    const isCollection = ({ name }: { name: string }) =>
      site.collections.some(({ resource }) => resource.name === name);
    const items = (tags: ApiDocument['tags']) =>
      tags.map(
        ({ name, description }) =>
          html`<p><a href="${path}?${SUBJECT}=${name}">${collectionLabel(name)}</a> <span class="dim">${description}</span></p>\n`,
      );
    return {
      title: 'API',
      tools: html`<a class="button" href="${path}?${TRIAL}=1">Try requests</a><a class="button" href="${site.prefix}/openapi.json?_format=json">OpenAPI</a>`,
      body: html`<p>Documents of all that you may use, as programs use it.</p>
<h2>Collections</h2>${items(document.tags.filter(isCollection))}<h2>The service</h2>${items(document.tags.filter((tag) => !isCollection(tag)))}`,
    };
  },
};

/** The operations of a collection, or on a subject of the service, and the fields of its records. */
function subjectPage(
  { paths, components }: ApiDocument,
  { name, description }: ApiDocument['tags'][number],
  path: string,
  { site }: PageOptions,
): PageContent {
  const operations = Object.entries(paths).flatMap(([template, methods]) =>
    Object.entries(methods)
      .filter(([, { tags }]) => tags?.includes(name))
      .map(([method, operation]) =>
        operationItem(method.replace('x-', '').toUpperCase(), template, operation),
      ),
  );
  const isOwn = site.collections.some(({ resource }) => resource.name === name);
  const record = isOwn ? schemaOf(paths[`/${name}/{id}`]?.get) : undefined;
  return {
    title: collectionLabel(name),
    crumbs: [{ text: 'API', href: path }],
    tools: isOwn && html`<a class="button" href="${site.prefix}/${name}">The records</a>`,
    body: html`<p>${description}</p>${operations}${record !== undefined && fieldsTable(components.schemas[record])}`,
  };
}

/** The name of the schema of the JSON that an operation responds with. */
function schemaOf(operation: JsonObject | undefined): string | undefined {
  const { responses } = (operation ?? {}) as { responses?: Record<string, { content?: JsonObject }> };
  const text = JSON.stringify(responses?.['200']?.content?.[JSON_TYPE] ?? null);
  return /"#\/components\/schemas\/([\w.-]{1,200})"/.exec(text)?.[1];
}

function operationItem(
  method: string,
  template: string,
  { summary, description, parameters }: Operation,
): Html {
  const named = (Array.isArray(parameters) ? parameters : [])
    .filter(isObject)
    .filter((each) => each.in !== 'header');
  return html`<details><summary><code>${method} ${template}</code> <span class="dim">${summary}</span></summary>
${typeof description === 'string' && html`<p>${description}</p>`}${pairs(named.map((each) => [String(each.name), String(each.description ?? '')]))}</details>\n`;
}

function fieldsTable(schema: JsonObject | undefined): Part {
  if (!isObject(schema?.properties)) return undefined;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const rows = Object.entries(schema.properties).map(([name, rules]) => {
    const { type, format, enum: values, description, readOnly } = isObject(rules) ? rules : NO_RULES;
    const kind = Array.isArray(values) ? values : [type, format].flat().filter((each) => each !== undefined);
    const state = readOnly === true ? 'by the service' : required.includes(name) ? 'required' : '';
    return [name, kind.join(', '), state, String(description ?? '')];
  });
  return html`<h2>Fields</h2>${tableOf(
    ['Field', 'Type', 'State', 'About'].map((label) => ({ label })),
    rows,
  )}`;
}

const NO_RULES: JsonObject = {};
