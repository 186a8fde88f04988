/** What is known of a table's records: so many sets of so many; 2 MiB, and the first is not taken before the first record. */
const SETS = 65_536;
const WAYS = 4;
/** Records in it from which on most sets are full. */
const FULL = (SETS * WAYS * 3) / 4;
/** Two words for a record: a part of its hash and its offset, then its block. */
const SET_WORDS = 2 * WAYS;
/** A page of 8 KiB has 291 offsets at most; what is further in a larger one is not kept. */
const OFFSETS = 0x1ff;
/** From here on an id is random, in the versions 4 and 7 of RFC 9562. */
const RANDOM = 26;

/**
 * Where the records of a table were last seen: PostgreSQL's `ctid`, as the text `(block,offset)`. Any of it may be out of
 * date, and two ids may look the same to it: what is found at a place has to be asked for its id.
 */
export interface Places {
  /** Undefined when it is not known. */
  of(id: string): string | undefined;
  keep(id: string, place: string): void;
  forget(id: string): void;
  /** Whether most of what is kept now takes the room of another. */
  isFull(): boolean;
}

/** Opens a memory of places, which is bounded: a new one takes the room of another of its set. */
export function openPlaces(): Places {
  let words: Int32Array | undefined;
  let turn = 0;
  let many = 0;

  /** Where in the words a record is; -1 when it is not. */
  function find(words: Int32Array, hash: number): number {
    const start = startOf(hash);
    for (let at = start; at < start + SET_WORDS; at += 2)
      if (words[at] !== 0 && ((words[at]! ^ hash) & ~OFFSETS) === 0) return at;
    return -1;
  }

  function roomFor(words: Int32Array, hash: number): number {
    const start = startOf(hash);
    for (let at = start; at < start + SET_WORDS; at += 2)
      if (words[at] === 0) {
        many++;
        return at;
      }
    turn = (turn + 2) % SET_WORDS;
    return start + turn;
  }

  return {
    of: (id) => {
      const at = words ? find(words, hashOf(id)) : -1;
      return at < 0 ? undefined : `(${words![at + 1]! >>> 0},${words![at]! & OFFSETS})`;
    },

    keep: (id, place) => {
      const comma = place.indexOf(',');
      const offset = Number(place.slice(comma + 1, -1));
      if (offset > OFFSETS) return;
      words ??= new Int32Array(SETS * SET_WORDS);
      const hash = hashOf(id);
      const known = find(words, hash);
      const at = known < 0 ? roomFor(words, hash) : known;
      words[at] = (hash & ~OFFSETS) | offset;
      words[at + 1] = Number(place.slice(1, comma));
    },

    forget: (id) => {
      const at = words ? find(words, hashOf(id)) : -1;
      if (at < 0) return;
      words![at] = 0;
      many--;
    },

    isFull: () => many >= FULL,
  };
}

const startOf = (hash: number) => (hash & (SETS - 1)) * SET_WORDS;

/** FNV-1a of what is random in an id. */
function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let at = RANDOM; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  return hash ^ (hash >>> 15);
}
