import { JSON_PATCH, JSON_TYPE } from '../../http/media-types.js';
import type { Body } from '../../http/request.js';
import { isObject, type Json, type JsonObject, setMember } from '../../json.js';
import { type FormField, OTHER, pointerTo } from './form-fields.js';
import { bodyOf, digestsIn, type FaultsOf, type Submitted, valuesIn } from './submitted-form.js';

/** The fields that were changed, as a PATCH in JSON assigns them: a text that was emptied is empty. Rejects with 400. */
export async function assignmentsOf(submitted: Submitted, fields: readonly FormField[]): Promise<Body> {
  const record: JsonObject = {};
  for (const [{ kind, member }, value] of await valuesIn(submitted, submitted.entered.changed(fields)))
    setMember(
      record,
      member,
      value ?? (kind === 'choices' ? [] : kind === 'text' || kind === 'long' ? '' : null),
    );
  return bodyOf(JSON_TYPE, record);
}

/** A JSON Patch of what was changed: fields that were emptied are removed. Rejects with 400. */
export async function jsonPatchOf(
  submitted: Submitted,
  fields: readonly FormField[],
  faultsOf?: FaultsOf,
): Promise<Body> {
  const operations: JsonObject[] = [];
  const add = (path: string, value: Json) => operations.push({ op: 'add', path, value });
  const remove = (path: string) => operations.push({ op: 'remove', path });
  const was = Object.entries(digestsIn(submitted.entered.own('_was')));
  const objects = new Set(was.map(([path]) => path));
  for (const [field, value] of await valuesIn(submitted, submitted.entered.changed(fields), faultsOf)) {
    for (const path of field.parents.map((_, at) => pointerTo(field.parents.slice(0, at + 1)))) {
      if (!objects.has(path)) add(path, {});
      objects.add(path);
    }
    if (field.kind !== 'others') {
      if (value !== undefined) add(field.name, value);
      else if (field.kind !== 'secret') remove(field.name);
    } else if (isObject(value)) {
      const entered = Object.entries(value).map(([name, each]) => [pointerTo([name]), each] as const);
      for (const [path, digest] of was)
        if (digest === OTHER && !entered.some(([each]) => each === path)) remove(path);
      for (const [path, each] of entered) add(path, each);
    }
  }
  return bodyOf(JSON_PATCH, operations);
}
