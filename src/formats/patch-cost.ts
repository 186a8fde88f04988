import { unprocessablePatch } from '../errors.js';

/** Characters of JSON that the copies of one patch may add up to, and its objects, arrays and members of objects. */
const MAX_COPIED = 4 * 1024 * 1024;
const MAX_COPIED_MEMBERS = 50_000;
/**
 * Array elements that the insertions and removals of one patch may move: 1,000 at the front of an array of 50,000 are
 * possible, and 100 of an array of 500,000.
 */
const MAX_MOVED = 50_000_000;
/** Members that the comparisons of one patch may look at, as many as a record has ten times over. */
const MAX_COMPARED = 500_000;

/** What the operations of one patch cost, within its limits. Each method throws 422. */
export class PatchCost {
  #copied = 0;
  #members = 0;
  #moved = 0;
  #compared = 0;

  copy(characters: number, index: number): void {
    this.#copied += characters;
    if (this.#copied > MAX_COPIED)
      throw unprocessablePatch(`The patch copies more than ${MAX_COPIED} characters of JSON.`, index);
  }

  copyMembers(members: number, index: number): void {
    this.#members += members;
    if (this.#members > MAX_COPIED_MEMBERS)
      throw unprocessablePatch(`The patch copies more than ${MAX_COPIED_MEMBERS} members.`, index);
  }

  move(elements: number, index: number): void {
    this.#moved += elements;
    if (this.#moved > MAX_MOVED)
      throw unprocessablePatch(`The patch moves array elements more than ${MAX_MOVED} times.`, index);
  }

  compare(members: number, index: number): void {
    this.#compared += members;
    if (this.#compared > MAX_COMPARED)
      throw unprocessablePatch(`The patch compares more than ${MAX_COMPARED} members.`, index);
  }
}
