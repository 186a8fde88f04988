import { JSON_PATCH, JSON_TYPE } from '../../http/media-types.js';
import type { Body } from '../../http/request.js';
import { type JsonObject, member, setMember } from '../../json.js';
import { type FormField, fieldValue, pointerTo } from './form-fields.js';
import { readAs } from './inner-read.js';
import { bodyOf, type Check, recordOf, type Submitted, valuesIn } from './submitted-form.js';

/** The fields that were changed, as a PATCH in JSON assigns them: a text that was emptied is empty. Rejects with 400. */
export async function assignmentsOf(submitted: Submitted, fields: readonly FormField[]): Promise<Body> {
  const record: JsonObject = {};
  for (const [field, value] of await valuesIn(submitted, submitted.entered.changed(fields))) {
    const empty = field.kind === 'text' || field.kind === 'long' ? '' : null;
    setMember(record, field.member, value ?? (field.isList ? [] : empty));
  }
  return bodyOf(JSON_TYPE, record);
}

/**
 * A JSON Patch of the members of a record that were changed, from its present state, of which the patch has the ETag: fields that
 * were emptied are removed. Rejects with 400.
 */
export async function jsonPatchOf(
  collection: string,
  submitted: Submitted,
  fields: readonly FormField[],
  check: Check,
): Promise<Body> {
  const { site, request, entered } = submitted;
  const values = await valuesIn(submitted, entered.changed(fields), check);
  const record = (await readAs(site, request, `/${collection}/:id`, {}, request.params.id)) ?? {};
  const names = values.flatMap(([field, value]) =>
    field.kind === 'others'
      ? [fieldValue(record, field), value].flatMap((each) => Object.keys(each ?? {}))
      : [field.parents[0] ?? field.member],
  );
  recordOf(values, record);
  const operations = [...new Set(names)].map((name) => {
    const value = member(record, name);
    return { ...(value === undefined ? { op: 'remove' } : { op: 'add', value }), path: pointerTo([name]) };
  });
  return bodyOf(JSON_PATCH, operations);
}
