import { ERRORS_PATH } from '../../api/document-endpoints.js';
import { html, type Part } from '../../formats/html.js';
import { isObject, type Json, type JsonObject, member } from '../../json.js';
import { actorHtml, readActors } from './change-author.js';
import { pagesNav } from './collection-page.js';
import type { PageForm } from './form-action.js';
import { button } from './form-html.js';
import { capitalized, fieldLabel, wordsOf } from './labels.js';
import type { Crumb } from './layout.js';
import { choiceForm, facts, type Head, tableOf } from './list-table.js';
import { SERVICE } from './navigation.js';
import type { Page, PageOptions } from './pages.js';
import type { Site } from './site.js';
import { jsonText, valueHtml } from './values.js';
import { VERSIONS_PATH } from './versions-page.js';

/** A list of things that are no records of a collection. */
interface Things {
  /** The members in the table, the first one with a link to the page of its thing. */
  readonly columns: readonly string[];
  readonly hrefOf?: (entry: JsonObject, list: string) => string;
  /** The word for one of them, if a form creates it. */
  readonly singular?: string;
  /** The member with the id of a user, or with a text for another caller. */
  readonly user?: string | undefined;
  readonly hint?: Part;
}

interface ThingsJson {
  readonly data: readonly JsonObject[];
  readonly links?: Readonly<Record<string, string | null>>;
}

/** The query parameters of the GET of a path, as the documents about the API describe them. */
export type QueryOf = (path: string) => Readonly<Record<string, JsonObject>>;

/** The page of a list. A parameter with a list of values selects things. */
export function thingsPage(path: string, queryOf: QueryOf, things: Things): Page {
  const { columns, hrefOf = ({ id }, list) => `${list}/${String(id)}`, singular, user, hint } = things;
  const [name = '', { enum: values = undefined } = {}] =
    Object.entries(queryOf(path)).find(([, rule]) => Array.isArray(rule.enum)) ?? [];
  return {
    query: ({ parameters }) => {
      const given = new URLSearchParams(parameters);
      if (given.get(name) === '') given.delete(name);
      given.delete('_done');
      return String(given);
    },
    content: async (shown) => {
      const { site, request, json, names, may } = shown;
      const list = site.prefix + request.path;
      const { data, links } = json as unknown as ThingsJson;
      const actors = data.flatMap((entry) => (user === undefined ? [] : String(entry[user])));
      await readActors(names, actors);
      const heads = columns.map((column): Head => {
        const isNumber = data.every((entry) => typeof member(entry, column) === 'number');
        return { label: fieldLabel(column), style: isNumber ? 'number' : undefined };
      });
      const rows = data.map((entry) =>
        columns.map((column, at) => {
          const value = member(entry, column);
          const text = column === user ? actorHtml(names, String(value)) : valueHtml(firstIn(value));
          return at === 0 ? html`<a href="${hrefOf(entry, list)}">${text}</a>` : text;
        }),
      );
      const given = request.query.parameters.get(name) ?? '';
      return {
        title: headingOf(path),
        crumbs: crumbsAbove(shown.site, shown.request.path),
        tools:
          singular !== undefined &&
          may('POST') &&
          html`<a class="button main" href="${list}?_new">New ${singular}</a>`,
        body: html`${Array.isArray(values) && choiceForm(list, name, ['', ...values.map(String)], given)}
${rows.length === 0 ? html`<p>There are none yet.</p>` : tableOf(heads, rows)}
${hint}${links && pagesNav(links)}`,
      };
    },
  };
}

/** A value, or the first one that an object has. */
const firstIn = (value: Json | undefined): Json | undefined =>
  isObject(value) ? Object.values(value).find((each) => each !== null) : value;

const headingOf = (path: string): string =>
  SERVICE.find(([each]) => each === path)?.[1] ?? capitalized(wordsOf(path.slice(path.lastIndexOf('/') + 1)));

/** The pages above the page of a path: lists, and between them the things to which they belong. */
export function crumbsAbove({ prefix }: Site, path: string): Crumb[] {
  const segments = path.split('/').slice(1, -1);
  return segments.map((segment, at) => ({
    text: at % 2 === 0 ? headingOf(`/${segment}`) : headingOf(`/${segments[at - 1]}`).replace(/s$/, ''),
    href: `${prefix}/${segments.slice(0, at + 1).join('/')}`,
  }));
}

/** The page of one thing: its members, and the ways to change it. */
const thingPage = (titleOf: (json: JsonObject) => string, toolsOf?: (shown: PageOptions) => Part): Page => ({
  content: (shown) => {
    const { examples, links: _, ...members } = shown.json;
    const bodies = Object.entries(isObject(examples) ? examples : {}).map(
      ([type, body]) =>
        html`<h2>Example: ${type}</h2>\n<pre>${typeof body === 'string' ? body : jsonText(body)}</pre>\n`,
    );
    return {
      title: titleOf(shown.json),
      crumbs: crumbsAbove(shown.site, shown.request.path),
      tools: toolsOf?.(shown),
      body: html`${facts(members)}\n${bodies}`,
    };
  },
});

/** States in which a job does nothing more. */
const ENDED: readonly unknown[] = ['done', 'failed', 'cancelled'];

/** Continues at the delivery that is due now. */
const sending: PageForm = {
  next: ({ headers }) => `${headers[headers.indexOf('Location') + 1]}?_done=sent`,
};

/** The pages about the service, by their paths, besides those of what operators manage. Some paths have a form alone. */
export const servicePages = (queryOf: QueryOf): readonly (readonly [path: string, page: Page])[] => {
  const list = (path: string, things: Things) => [path, thingsPage(path, queryOf, things)] as const;
  const ofDeliveries = '/webhooks/:id/deliveries';
  return [
    list(ERRORS_PATH, {
      columns: ['code', 'status', 'message'],
      hrefOf: ({ code }, path) => `${path}/${String(code)}`,
    }),
    [`${ERRORS_PATH}/:code`, thingPage(({ code }) => String(code))],
    ['/whoami', thingPage(() => 'Who am I')],
    list('/jobs', { columns: ['collection', 'state', 'created_at', 'ended_at'] }),
    [
      '/jobs/:id',
      {
        ...thingPage(
          ({ collection }) => `Job of ${String(collection)}`,
          ({ site, request, json, forms, may }) => {
            const label = `${ENDED.includes(json.state) ? 'Remove' : 'Cancel'} this job`;
            return may('DELETE') && button(site.prefix + request.path, label, forms, { _method: 'DELETE' });
          },
        ),
        form: { next: (_reply, { site }) => `${site.prefix}/jobs?_done=deleted` },
      },
    ],
    list(VERSIONS_PATH, {
      columns: ['path', 'requests', 'deprecation', 'sunset'],
      hrefOf: ({ path }) => `${String(path)}/openapi.json?_format=json`,
      hint: html`<p class="hint">Requests since the start of each process. <code>V1_DEPRECATION</code> and <code>V1_SUNSET</code> set the dates.</p>`,
    }),
    ['/webhooks/:id/test', { form: sending }],
    list(ofDeliveries, { columns: ['type', 'status', 'subject', 'tries', 'last_answer', 'created_at'] }),
    [
      `${ofDeliveries}/:delivery`,
      thingPage(
        ({ id }) => `Delivery ${String(id)}`,
        ({ site, request, json, forms }) =>
          html`<a class="button" href="${String(json.subject)}">The record</a>${!request.run && button(`${site.prefix}${request.path}/redeliver`, 'Redeliver', forms)}`,
      ),
    ],
    [`${ofDeliveries}/:delivery/redeliver`, { form: sending }],
  ];
};
