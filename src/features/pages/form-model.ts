import type { Resource } from '../../collection/resource.js';
import type { Body, Request } from '../../http/request.js';
import type { JsonObject } from '../../json.js';
import type { Submitted } from './form-action.js';
import type { FormField, FormRules } from './form-fields.js';
import { jsonPatchOf } from './form-patch.js';
import type { Crumb, PageContent } from './layout.js';
import type { Site } from './site.js';
import type { SubmittedForm } from './submitted-form.js';

/** The records that forms create and change. */
export interface FormModel {
  /** The segment of its path, and the word for one of them. */
  readonly name: string;
  readonly singular: string;
  /** The fields of a form by which a caller creates one. A nested path names its parent. */
  readonly creation: (request: Pick<Request, 'params'>) => FormRules;
  /** The fields of a form by which a caller changes one. */
  readonly change: FormRules;
  readonly titleOf: (record: JsonObject) => string;
  /** The body of a PATCH with what was changed. */
  readonly changesIn: (entered: SubmittedForm, fields: readonly FormField[]) => Promise<Body>;
  /** Where the browser continues after a creation, or what it shows. */
  readonly created: (record: JsonObject, submitted: Submitted) => string | PageContent;
}

/** The records of a collection. */
export function editableOf(resource: Resource): FormModel {
  const { name, singular, schema, readOnly, importOnly, immutable, parent } = resource;
  const omitted = [...readOnly, ...importOnly];
  return {
    name,
    singular,
    creation: ({ params }) => ({
      schema,
      omitted: [...omitted, 'current_password', ...(params.id !== undefined && parent ? [parent.field] : [])],
    }),
    change: { schema, omitted: [...omitted, ...immutable] },
    titleOf: (record) => {
      const given = record.name ?? record.title;
      return typeof given === 'string' && given.trim() !== '' ? given : `${singular} ${String(record.id)}`;
    },
    changesIn: jsonPatchOf,
    created: ({ id }, { site }) => `${site.prefix}/${name}/${String(id)}?_done=created`,
  };
}

/** The pages above that of a record. */
export const crumbsOf = ({ prefix }: Site, name: string): Crumb[] => [
  { text: 'Home', href: `${prefix}/` },
  { text: name, href: `${prefix}/${name}` },
];
