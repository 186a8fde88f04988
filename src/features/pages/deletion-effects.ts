import type { Reference, Resource } from '../../collection/resource.js';
import { Problem } from '../../errors/problem.js';
import { html } from '../../formats/html.js';
import { filterName, filterSegment } from '../../list/query-names.js';
import { relatedOf } from '../../list/relations.js';
import { readsAll } from '../../policy/policy.js';
import { readListAs } from './inner-read.js';
import { collectionLabel } from './labels.js';
import type { PageContext } from './layout.js';
import { collectionOf } from './site.js';

/** Names of a path that may become longer, and paths of a collection: filters follow 20 relations, nested up to 5 deep. */
const [MAX_NAMES, MAX_PATHS] = [6, 4];

/** The effect of a deletion on a record that refers to a deleted one. */
const EFFECTS: Readonly<Record<Reference['onDelete'], string>> = {
  cascade: 'deleted as well',
  restrict: 'the deletion is refused as long as they exist',
  null: 'without the reference afterwards',
  remove: 'without the reference afterwards',
};

/** Records on which a deletion has an effect, by the names in a filter that lead from them to the deleted records. */
type Affected = Pick<Reference, 'onDelete'> & { readonly resource: Resource; readonly paths: string[][] };

/** A number that takes too long is unknown, as one that the caller does not get. */
function noneIfRefused(error: unknown): undefined {
  if (!(error instanceof Problem)) throw error;
}

/** The effects of a deletion on other records, and their numbers, as far as filters lead and the caller may read the records. */
export async function effectsOf(deleted: Resource, ids: readonly string[], { site, request }: PageContext) {
  const affected = new Map<string, Affected>();
  const ways: [Resource, readonly string[]][] = [[deleted, ['id', 'in']]];
  let isCut = false;
  for (const [above, path] of ways)
    for (const { collection, field } of above.referredBy) {
      const { resource } = collectionOf(site, collection)!;
      const { onDelete } = resource.references.find((each) => each.field === field)!;
      const [isFirst, isCascade] = [path.length === 2, onDelete === 'cascade'];
      if (!isFirst && !isCascade && onDelete !== 'restrict') continue;
      const own = affected.get(`${collection} ${onDelete}`) ?? { resource, onDelete, paths: [] };
      const isOver = !isFirst && (path.length > MAX_NAMES || own.paths.length >= MAX_PATHS);
      isCut ||= isOver;
      if (isOver) continue;
      const { name, isMany } = relatedOf(resource).find((each) => each.field === field)!;
      own.paths.push([filterSegment(name), ...(isMany ? ['some'] : []), ...path]);
      affected.set(`${collection} ${onDelete}`, own);
      if (isCascade) ways.push([resource, own.paths.at(-1)!]);
    }
  const effects = [...affected.values()].map(async ({ resource, onDelete, paths }) => {
    const conditions = paths.map((path, at) => [filterName(['or', String(at), ...path]), ids.join()]);
    const query = { ...Object.fromEntries(conditions), limit: '1' };
    const total = (await readListAs(site, request, `/${resource.name}`, query).catch(noneIfRefused))?.total;
    const isAll = total !== undefined && readsAll(resource, request.principal);
    const text = `${collectionLabel(resource.name)} (${total?.toLocaleString('en')}): ${EFFECTS[onDelete]}`;
    return { isMore: !isAll && onDelete === 'cascade', item: total ? html`<li>${text}</li>` : undefined };
  });
  const known = await Promise.all(effects);
  const isMore = known.some((each) => each.isMore) || (isCut && known.some(({ item }) => item));
  const more = isMore && html`<li>And what belongs to these: deleted as well</li>`;
  return (isMore || known.some(({ item }) => item)) && html`<ul>${known.map(({ item }) => item)}${more}</ul>`;
}
