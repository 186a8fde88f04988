import { type JsonObject, setMember } from '../json.js';

/** Members that each record has, whatever a caller may read of it. */
export const OWN_MEMBERS = ['id', 'created_at', 'updated_at', '_version'];

/** A document as the part of it with some fields, and the rest. The order of the members remains. */
export function divided(doc: string, fields: ReadonlySet<string>): [shown: JsonObject, hidden: JsonObject] {
  const [shown, hidden]: [JsonObject, JsonObject] = [{}, {}];
  for (const [name, value] of Object.entries(JSON.parse(doc) as JsonObject))
    setMember(OWN_MEMBERS.includes(name) || fields.has(name) ? shown : hidden, name, value);
  return [shown, hidden];
}

/** The text of a document with some of its fields. */
export const partOf = (doc: string, fields: ReadonlySet<string>): string =>
  JSON.stringify(divided(doc, fields)[0]);
