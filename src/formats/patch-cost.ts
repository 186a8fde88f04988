import { unprocessablePatch } from '../errors/input-errors.js';
import { isObject, type Json } from '../json.js';

/**
 * Maximum characters of JSON, at least, that the copies of one patch add up to, and their objects, arrays and members: half of
 * those that a record may have.
 */
const MAX_COPIED = 2 * 1024 * 1024;
const MAX_COPIED_MEMBERS = 25_000;
/**
 * Maximum array elements that the insertions and removals of one patch shift: 1,000 at the front of an array of 50,000, or
 * 100 of an array of 500,000.
 */
const MAX_MOVED = 50_000_000;
/** Maximum members of the objects that the tests of one patch compare: ten times as many as a record may have. */
const MAX_COMPARED = 500_000;

/** Adds up what the operations of one patch cost. Each method throws 422 beyond its limit. */
export class PatchCost {
  #copied = 0;
  #members = 0;
  #moved = 0;
  #compared = 0;

  copy(value: Json, index: number): void {
    this.#add(value);
    if (this.#copied > MAX_COPIED)
      throw unprocessablePatch(`The patch copies more than ${MAX_COPIED} characters of JSON.`, index);
    if (this.#members > MAX_COPIED_MEMBERS)
      throw unprocessablePatch(`The patch copies more than ${MAX_COPIED_MEMBERS} members.`, index);
  }

  move(elements: number, index: number): void {
    this.#moved += elements;
    if (this.#moved > MAX_MOVED)
      throw unprocessablePatch(`The patch moves array elements more than ${MAX_MOVED} times.`, index);
  }

  /** Nested values are compared only while the sizes are equal, so the length of the patch limits them. */
  compare(actual: Json, expected: Json, index: number): void {
    if (isObject(actual) && isObject(expected)) this.#compared += Object.keys(actual).length;
    if (this.#compared > MAX_COMPARED)
      throw unprocessablePatch(`The patch compares more than ${MAX_COMPARED} members.`, index);
  }

  /** Adds a value, until a limit is exceeded, without making its text, which would take longer than the copy. */
  #add(value: Json): void {
    if (this.#copied > MAX_COPIED || this.#members > MAX_COPIED_MEMBERS) return;
    // With the comma.
    this.#copied += typeof value === 'string' ? value.length + 3 : 2;
    if (typeof value !== 'object' || value === null) return;
    this.#members++;
    if (Array.isArray(value)) {
      for (const each of value) this.#add(each);
      return;
    }
    for (const name of Object.keys(value)) {
      this.#members++;
      this.#copied += name.length + 3;
      this.#add(value[name]!);
    }
  }
}
