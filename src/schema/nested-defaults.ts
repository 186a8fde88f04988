import { escapeToken, isObject, type Json, type JsonObject } from '../json.js';

/** The defaults of members that become required in objects within a record, by JSON Pointers; a record has `former` rules. */
export function defaultsWithin(
  schema: JsonObject,
  former: JsonObject,
  at = '',
): [pointer: string, value: Json][] {
  return membersOf(schema).flatMap(([name, own]): [string, Json][] => {
    const before = new Map(membersOf(former)).get(name) ?? {};
    const pointer = `${at}/${escapeToken(name)}`;
    const wasRequired = requiredIn(before);
    const added = requiredIn(own)
      .filter((each) => !wasRequired.includes(each))
      .flatMap((each): [string, Json][] => {
        const value = new Map(membersOf(own)).get(each)?.default;
        return value === undefined || value === null ? [] : [[`${pointer}/${escapeToken(each)}`, value]];
      });
    return [...added, ...defaultsWithin(own, before, pointer)];
  });
}

/** The schemas of the members of an object. */
const membersOf = ({ properties }: JsonObject): [string, JsonObject][] =>
  Object.entries(isObject(properties) ? properties : {}).filter((each): each is [string, JsonObject] =>
    isObject(each[1]),
  );

const requiredIn = ({ required }: JsonObject): string[] =>
  Array.isArray(required) ? required.filter((each) => typeof each === 'string') : [];
