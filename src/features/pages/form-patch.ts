import { JSON_PATCH, JSON_TYPE } from '../../http/media-types.js';
import type { Body } from '../../http/request.js';
import { isObject, type Json, type JsonObject, setMember } from '../../json.js';
import { type FormField, pointerTo } from './form-fields.js';
import { bodyOf, digestsIn, type FaultsOf, type Submitted, valuesIn } from './submitted-form.js';

/** A JSON Patch of what was changed: fields that were emptied are removed. Rejects with 400. */
export async function jsonPatchOf(
  submitted: Submitted,
  fields: readonly FormField[],
  faultsOf?: FaultsOf,
): Promise<Body> {
  return bodyOf(JSON_PATCH, await operationsIn(submitted, fields, faultsOf));
}

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

async function operationsIn(
  submitted: Submitted,
  fields: readonly FormField[],
  faultsOf?: FaultsOf,
): Promise<Json> {
  const operations: JsonObject[] = [];
  const add = (path: string, value: Json) => operations.push({ op: 'add', path, value });
  const remove = (path: string) => operations.push({ op: 'remove', path });
  const objects = new Set(Object.keys(digestsIn(submitted.entered.own('_was'))));
  for (const [field, value] of await valuesIn(submitted, submitted.entered.changed(fields), faultsOf)) {
    for (const path of field.parents.map((_, at) => pointerTo(field.parents.slice(0, at + 1)))) {
      if (!objects.has(path)) add(path, {});
      objects.add(path);
    }
    if (field.kind !== 'others') {
      if (value !== undefined) add(field.name, value);
      else if (field.kind !== 'secret') remove(field.name);
    } else if (isObject(value)) {
      for (const name of namesIn(submitted.entered.own('_others')))
        if (!Object.hasOwn(value, name)) remove(pointerTo([name]));
      for (const [name, each] of Object.entries(value)) add(pointerTo([name]), each);
    }
  }
  return operations;
}

function namesIn(text: string): string[] {
  try {
    const names: unknown = JSON.parse(text);
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
  } catch {
    return [];
  }
}
