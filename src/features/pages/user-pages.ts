import { at, type Endpoint } from '../../api/endpoint.js';
import { scopesOf } from '../../auth/principal.js';
import { knownScopes, scopeFault, setUserScopes } from '../../auth/user-scopes.js';
import { statements } from '../../db/statements.js';
import { invalid } from '../../errors/input-errors.js';
import { absent } from '../../errors/record-errors.js';
import { html } from '../../formats/html.js';
import { JSON_TYPE } from '../../http/media-types.js';
import type { Reply } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import type { JsonObject } from '../../json.js';
import { pagesNav } from './collection-page.js';
import { jsonReply, type PageServices } from './declaration-files.js';
import { crumbsOf, type FormModel } from './form-model.js';
import { assignmentsOf } from './form-patch.js';
import { readAs, readListAs } from './inner-read.js';
import { shortTitleOf } from './labels.js';
import { listTable, recordTable } from './list-table.js';
import type { Page } from './pages.js';
import { changeAction } from './record-form-actions.js';
import { editPage } from './record-forms.js';
import type { Site } from './site.js';

/** No collection can have this name. */
export const USERS_PATH = '/user-scopes';

const USERS_SQL = statements('features/pages/pages.sql', ['scopes_of_users']);
/** Users of a page of the list. */
const LIMIT = 50;
const ADMIN = { scopes: ['admin'] };

/** The endpoints of the pages of users. */
export const USER_ENDPOINTS: readonly Endpoint<PageServices>[] = [
  {
    ...at('GET', USERS_PATH, ADMIN),
    offers: [JSON_TYPE],
    parameters: ['page'],
    run: ({ site }, request) => list(site(), request),
  },
  {
    ...at('GET', `${USERS_PATH}/:id`, ADMIN),
    offers: [JSON_TYPE],
    run: async ({ site }, request) => jsonReply(await one(site(), request)),
  },
  {
    ...at('PATCH', `${USERS_PATH}/:id`, ADMIN),
    accepts: [JSON_TYPE],
    notInBatch: 'scopes of users',
    offers: [JSON_TYPE],
    run: ({ site }, request) => change(site(), request),
  },
];

const usersIn = ({ collections }: Site) =>
  collections.find(({ resource }) => resource.hasPasswords)?.resource;

/** The users that the caller may read, with their scopes: 200. */
async function list(site: Site, request: Request): Promise<Reply> {
  const users = usersIn(site);
  const page = Math.max(1, Number.parseInt(request.query.parameters.get('page') ?? '1', 10) || 1);
  const query = { page: String(page), limit: String(LIMIT) };
  const found = users && (await readListAs(site, request, { template: `/${users.name}` }, query));
  const last = Math.max(1, Math.ceil((found?.total ?? 0) / LIMIT));
  const at = (to: number) => (to < 1 || to > last ? null : `${site.prefix}${USERS_PATH}?page=${to}`);
  return jsonReply({
    data: await withScopes(site, request, found?.data ?? []),
    links: { self: at(page), prev: at(page - 1), next: at(page + 1) },
  });
}

async function withScopes(
  site: Site,
  { run }: Pick<Request, 'run'>,
  records: readonly JsonObject[],
): Promise<JsonObject[]> {
  const rows = await (run ?? site.db.run)(USERS_SQL.scopes_of_users, [
    JSON.stringify(records.map(({ id }) => id)),
  ]);
  return records.map((record) => {
    const row = rows.find(({ id }) => id === record.id);
    const scopes = [...scopesOf(row?.scopes ?? '')];
    return {
      id: record.id!,
      user: shortTitleOf(usersIn(site)!, record),
      scopes,
      sessions: Number(row?.sessions ?? 0),
    };
  });
}

/** A user that the caller may read. Rejects with 404. */
async function one(site: Site, request: Request): Promise<JsonObject> {
  const users = usersIn(site);
  const id = request.params.id!;
  const record = users && (await readAs(site, request, { template: `/${users.name}/:id`, id }));
  if (!record) throw absent('user', 'simple');
  return (await withScopes(site, request, [record]))[0]!;
}

/** Sets what a user may do beyond its own account: 200, 400, 404. */
async function change(site: Site, request: Request): Promise<Reply> {
  const { id } = await one(site, request);
  const { scopes } = (request.body?.value ?? {}) as { scopes?: unknown };
  const given = Array.isArray(scopes) ? scopes.map(String) : undefined;
  if (!given) throw invalid([{ path: '/scopes', message: 'must be an array', keyword: 'type' }]);
  const known = scopesFor(site);
  const fault = given.map((scope) => scopeFault(scope, known)).find((each) => each !== undefined);
  if (fault !== undefined) throw invalid([{ path: '/scopes', message: fault, keyword: 'enum' }]);
  await setUserScopes(site.db, String(id), given);
  return jsonReply(await one(site, request));
}

const scopesFor = ({ collections }: Site): readonly string[] =>
  knownScopes(collections.map(({ resource }) => resource));

const modelOf = (scopes: readonly string[]): FormModel => {
  const items = { type: 'string', enum: scopes };
  const rules = {
    schema: { properties: { scopes: { type: 'array', items } }, additionalProperties: false },
    omitted: [],
  };
  return {
    name: USERS_PATH.slice(1),
    singular: 'user',
    creation: () => rules,
    change: rules,
    titleOf: ({ user }) => `scopes of ${String(user)}`,
    changesIn: assignmentsOf,
    created: () => USERS_PATH,
  };
};

/** The users with their scopes and sessions. */
export const usersPage: Page = {
  content: ({ site, json }) => {
    const { data, links } = json as unknown as { data: JsonObject[]; links: Record<string, string | null> };
    const rows = data.map(({ id, ...user }) => ({ ...user, _id: id! }));
    return {
      title: 'Scopes of users',
      body: html`${listTable(rows, ({ _id }, field) => (field === 'user' ? `${site.prefix}${USERS_PATH}/${String(_id)}` : undefined))}${pagesNav(links)}`,
    };
  },
};

/** A user, and the form with its scopes. `scopes`: the ones that there are. */
export function userPage(scopes: readonly string[]): Page {
  const model = modelOf(scopes);
  return {
    content: (shown) => {
      const { site, request, json } = shown;
      const here = site.prefix + request.path;
      const crumbs = crumbsOf(site, model.name);
      const above = [...crumbs, { text: String(json.user), href: here }];
      if (request.query.text === '_edit') return editPage(model, json, shown, above);
      const users = usersIn(site)!.name;
      return {
        title: String(json.user),
        crumbs,
        tools: html`<a class="button" href="${site.prefix}/${users}/${String(json.id)}">The record</a><a class="button main" href="${here}?_edit">Edit</a>`,
        body: recordTable({ ...json, scopes: (json.scopes as string[]).join(', ') }),
      };
    },
    form: changeAction(model),
  };
}
