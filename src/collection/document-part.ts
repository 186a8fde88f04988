import { type JsonObject, setMember } from '../json.js';

/** Members that each record has, whatever a caller may read of it. */
export const OWN_MEMBERS = ['id', 'created_at', 'updated_at', '_version'];

/** The text of a document with some of its fields, in its order. */
export const partOf = (doc: string, fields: ReadonlySet<string>): string =>
  JSON.stringify(membersOf(doc, (name) => isShown(name, fields)));

/** The members of a document without some fields, in its order. */
export const hiddenIn = (doc: string, fields: ReadonlySet<string>): JsonObject =>
  membersOf(doc, (name) => !isShown(name, fields));

const isShown = (name: string, fields: ReadonlySet<string>): boolean =>
  fields.has(name) || OWN_MEMBERS.includes(name);

function membersOf(doc: string, isWanted: (name: string) => boolean): JsonObject {
  const all = JSON.parse(doc) as JsonObject;
  const wanted: JsonObject = {};
  for (const name of Object.keys(all)) if (isWanted(name)) setMember(wanted, name, all[name]!);
  return wanted;
}
