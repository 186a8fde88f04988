/** Occurrences of a text until it is frequent. */
const OFTEN = 3;
/** The most texts that are frequent, and that are known. */
const MAX_FREQUENT = 100;
const MAX_KNOWN = 400;
/** The most occurrences for which a text is not used after it was no use. */
const MAX_PAUSE = 64;

interface Text {
  count: number;
  /** Occurrences after the last failure for which the text is not used, and how many of them are left. */
  pause: number;
  left: number;
}

/**
 * Decides which statements connections prepare: those that come often. A connection retains what it has prepared, so a frequent text
 * remains frequent, and the number of them is limited.
 */
export class FrequentTexts {
  readonly #texts = new Map<string, Text>();
  #frequent = 0;

  /** Counts an occurrence of a text. Returns whether the text is frequent, and has been of use. */
  isUsed(text: string): boolean {
    const known = this.#texts.get(text) ?? { count: 0, pause: 0, left: 0 };
    if (known.count < OFTEN) return this.#count(text, known);
    if (known.left === 0) return true;
    known.left--;
    return false;
  }

  /** Counts a text that is not frequent yet, and forgets the one of them that has not come for the longest time. */
  #count(text: string, known: Text): boolean {
    if (this.#frequent === MAX_FREQUENT) return false;
    known.count++;
    const isFrequent = known.count === OFTEN;
    if (isFrequent) this.#frequent++;
    this.#texts.delete(text);
    this.#texts.set(text, known);
    if (this.#texts.size > MAX_KNOWN)
      for (const [oldest, { count }] of this.#texts)
        if (count < OFTEN) {
          this.#texts.delete(oldest);
          break;
        }
    return isFrequent;
  }

  /** Notes whether a frequent text was of use. Each time that it was not, it is used more seldom. */
  note(text: string, isOfUse: boolean): void {
    const known = this.#texts.get(text)!;
    known.pause = isOfUse ? 0 : Math.min(Math.max(1, known.pause * 2), MAX_PAUSE);
    known.left = known.pause;
  }
}
