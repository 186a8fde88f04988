import { HTML_TYPE, JSON_TYPE } from '../../http/media-types.js';
import type { Action, OpenEndpoint, Route } from '../../http/router.js';
import { isObject, setMember } from '../../json.js';
import { newIdOf } from './loose-ids.js';
import { BELOW } from './loose-list.js';
import { MISSING } from './loose-records.js';
import { namesOf, referenceTo, type Source } from './loose-relations.js';

/**
 * Adds to the routes of a service the lists of json-server below the records of every reference, and the former names of
 * collections: `/posts` leads to legacy_posts if there is no collection posts. No name is one of `ownPaths`, the first segments
 * of the service's own paths.
 */
export function withLooseRoutes(
  routes: readonly Route[],
  sources: readonly Source[],
  ownPaths: ReadonlySet<string>,
): Route[] {
  const known = new Set(routes.map(({ path }) => path));
  const nested = sources.flatMap((parent) =>
    sources.flatMap((child) => nestedRoute(routes, parent, child)).filter(({ path }) => !known.has(path)),
  );
  const all = [...routes, ...nested];
  const names = [...namesOf(sources.map(({ collection: { resource } }) => resource.name))];
  return all.flatMap((route) => [
    route,
    ...withFormerNames(
      route,
      names.filter(([former]) => !ownPaths.has(former)),
    ),
  ]);
}

/** `/books/:id/reviews`, whose requests are those to `/reviews` about the records that refer to the book. */
function nestedRoute(routes: readonly Route[], parent: Source, child: Source): Route[] {
  const [{ resource: above }, { resource }] = [parent.collection, child.collection];
  const field = referenceTo(resource, above);
  const { GET: list, POST: creation } =
    routes.find(({ path }) => path === `/${resource.name}`)?.actions ?? {};
  if (field === undefined || !list || !creation) return [];
  const run: Action['run'] = ({ params, ...request }) =>
    list.run({ ...request, params: { ...params, [BELOW]: field } });
  const actions = { GET: { ...list, run }, POST: creationBelow(creation, parent, field) };
  return [{ path: `/${above.name}/:id/${resource.name}`, actions: withoutPages(actions) }];
}

/** A creation of a record that refers to the record in the path. */
function creationBelow(creation: OpenEndpoint, parent: Source, field: string): OpenEndpoint {
  const { streams: _types, stream: _, ...action } = creation;
  return {
    ...action,
    accepts: [JSON_TYPE],
    run: async (request) => {
      const id = await newIdOf(parent.collection, request.params.id ?? '', request);
      if (id === undefined) return MISSING;
      const { body } = request;
      if (!body || !isObject(body.value)) return action.run(request);
      const value = { ...body.value };
      setMember(value, field, id);
      return action.run({ ...request, body: { ...body, value } });
    },
  };
}

/** The routes with the former names of the collections in the path of a route. */
function withFormerNames(route: Route, names: readonly (readonly [former: string, name: string])[]): Route[] {
  const paths = route.path.split('/').reduce<readonly string[]>(
    (begun, part) => {
      const former = names.filter(([, name]) => name === part).map(([each]) => each);
      const parts = former.length === 0 ? [part] : former;
      return begun.flatMap((path) => parts.map((each) => `${path}/${each}`));
    },
    [''],
  );
  return paths
    .map((path) => path.slice(1))
    .filter((path) => path !== route.path)
    .map((path) => ({ path, actions: withoutPages(route.actions) }));
}

/** Pages are at the addresses of the service alone. */
const withoutPages = (actions: Route['actions']): Route['actions'] =>
  Object.fromEntries(
    Object.entries(actions).map(([method, { offers, page: _, ...action }]) => [
      method,
      { ...action, ...(offers && { offers: offers.filter((type) => type !== HTML_TYPE) }) },
    ]),
  );
