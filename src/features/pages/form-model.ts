import { STRANGER } from '../../auth/principal.js';
import { perResource, type Resource } from '../../collection/resource.js';
import type { Request } from '../../http/request.js';
import { type JsonObject, member } from '../../json.js';
import { grantFields, grantsFor, type Verb } from '../../policy/policy.js';
import { type FormField, formFields } from './form-fields.js';
import { collectionLabel } from './labels.js';
import type { Crumb, PageContent, PageContext } from './layout.js';
import type { Names } from './names.js';
import { collectionOf } from './site.js';

/** The records that forms create and change. */
export interface FormModel {
  /** The segment of its path, and the word for one of them. */
  readonly name: string;
  readonly singular: string;
  /** The verb for a deletion. */
  readonly removal: string;
  /** The collection of the records; absent: the service stores them in another way. */
  readonly resource?: Resource;
  /** The fields of a form by which a caller may create, or change one. A nested path names the parent of a new one. */
  readonly fields: (request: Pick<Request, 'params' | 'principal'>, verb: Verb) => readonly FormField[];
  /** The text by which people know a record, of the names that are read. */
  readonly titleOf: (record: JsonObject, names: Names) => string;
  /** The pages above that of a record, or of a new one. */
  readonly crumbs: (context: PageContext, record?: JsonObject) => Promise<readonly Crumb[]>;
  /** The page that shows the secret of a new one, or another secret; undefined: there is none. */
  readonly secretPage?: (record: JsonObject, context: PageContext) => PageContent | undefined;
}

/** The records of a collection. */
export const editableOf = perResource((resource): FormModel => {
  const { name, singular, schema, readOnly, importOnly, immutable, parent, hasRules } = resource;
  // A text without a bound has several lines, except one that lists compare or search.
  const short = [resource.display, ...resource.filterable, ...resource.searchable, ...resource.words];
  const declared = Object.entries(schema.properties as Readonly<Record<string, object>>);
  const long = { maxLength: Number.MAX_VALUE };
  const rules = declared.map(([field, own]) => [field, short.includes(field) ? own : { ...long, ...own }]);
  const all = formFields({ ...schema, properties: Object.fromEntries(rules) });
  const fields = ({ params: { id }, principal }: Pick<Request, 'params' | 'principal'>, verb: Verb) => {
    const given = ['current_password', id === undefined ? undefined : parent?.field];
    const omitted = [...readOnly, ...importOnly, ...(verb === 'create' ? given : immutable)];
    // After the end of a session, or of the permission, a form still shows what was entered.
    const grants = hasRules && principal !== STRANGER ? grantsFor(resource, verb, resource, principal) : [];
    const set = grants.length > 0 ? grantFields(grants) : undefined;
    // The password that confirms a change is no field of a record.
    const isSettable = (field: string) => !set || set.has(field) || field === 'current_password';
    return all.filter(({ path: [field = ''] }) => !omitted.includes(field) && isSettable(field));
  };
  return {
    ...{ name, singular, removal: 'Delete', resource, fields },
    titleOf: (record, names) => names.titleOf(resource, record),
    crumbs: (context, record) => crumbsTo(resource, context, record),
  };
});

/**
 * The list of a collection: that below another record, after the pages to this one, for a record whose parent the caller may
 * read, and where the path is that of such a list.
 */
export async function crumbsTo(
  { name, parent }: Resource,
  { site, request, names }: PageContext,
  record?: JsonObject,
): Promise<readonly Crumb[]> {
  const id = record ? parent && member(record, parent.field) : request.params.id;
  const list = { text: collectionLabel(name), href: `${site.prefix}/${name}` };
  if (!parent || typeof id !== 'string') return [list];
  await names.read(parent.to, [id]);
  const text = names.of(id) ?? names.titleOf(collectionOf(site, parent.to)!.resource, { id });
  const above = { text: collectionLabel(parent.to), href: `${site.prefix}/${parent.to}` };
  const href = `${above.href}/${id}`;
  return [above, { text, href }, { ...list, href: `${href}/${name}` }];
}
