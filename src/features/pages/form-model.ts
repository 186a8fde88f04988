import { perResource, type Resource } from '../../collection/resource.js';
import type { Body, Request } from '../../http/request.js';
import { type JsonObject, member } from '../../json.js';
import { type FormField, formFields } from './form-fields.js';
import { collectionLabel } from './labels.js';
import type { Crumb, PageContent, PageContext } from './layout.js';
import type { Names } from './names.js';
import { collectionOf } from './site.js';
import { type Check, jsonPatchOf, type Submitted } from './submitted-form.js';

/** The records that forms create and change. */
export interface FormModel {
  /** The segment of its path, and the word for one of them. */
  readonly name: string;
  readonly singular: string;
  /** The verb for a deletion. */
  readonly removal: string;
  /** The collection of the records; absent: the service stores them in another way. */
  readonly resource?: Resource;
  /** The fields of a form by which a caller creates one. A nested path names its parent. */
  readonly creation: (request: Pick<Request, 'params'>) => readonly FormField[];
  /** The fields of a form by which a caller changes one. */
  readonly change: readonly FormField[];
  /** The text by which people know a record, of the names that are read. */
  readonly titleOf: (record: JsonObject, names: Names) => string;
  /** The pages above that of a record, or of a new one. */
  readonly crumbs: (context: PageContext, record?: JsonObject) => Promise<readonly Crumb[]>;
  /** The body of a PATCH with what was changed. */
  readonly changesIn: (submitted: Submitted) => Promise<Body>;
  /** Absent: only the action knows the rules. */
  readonly check?: Check;
  /** Where the browser continues after a creation, or what it shows. */
  readonly created: (record: JsonObject, submitted: Submitted) => string | PageContent;
}

/** The records of a collection. */
export const editableOf = perResource((resource): FormModel => {
  const { name, singular, schema, readOnly, importOnly, immutable, parent } = resource;
  const omitted = [...readOnly, ...importOnly];
  const change = formFields(schema, [...omitted, ...immutable]);
  const check: Check = (input, { site, request }) => {
    const above = request.params.id !== undefined && parent && { [parent.field]: request.params.id };
    const collection = collectionOf(site, name)!.as(request);
    collection.check({ ...input, ...above });
  };
  return {
    ...{ name, singular, removal: 'Delete', resource },
    creation: ({ params: { id } }) =>
      formFields(schema, [...omitted, 'current_password', id !== undefined && parent ? parent.field : '']),
    change,
    titleOf: (record, names) => names.titleOf(resource, record),
    crumbs: (context, record) => crumbsTo(resource, context, record),
    changesIn: (submitted) => jsonPatchOf(name, submitted, change, check),
    check,
    created: ({ id }, { site }) => `${site.prefix}/${name}/${String(id)}?_done=created`,
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
