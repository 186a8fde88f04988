/** Counts the work of each caller that is in progress, of which a caller has at most its share. */
export class CallerShares {
  readonly #held = new Map<string, number>();

  constructor(
    readonly share: number,
    /** Called when work of a caller has ended. */
    readonly onRelease: () => void,
  ) {}

  /** Whether a caller has all that it may have at once. Work without a caller has no share. */
  isUsed(caller: string | undefined): boolean {
    return caller !== undefined && (this.#held.get(caller) ?? 0) >= this.share;
  }

  /** Counts work of a caller until the returned function is called. */
  hold(caller: string | undefined): () => void {
    if (caller === undefined) return () => undefined;
    this.#held.set(caller, (this.#held.get(caller) ?? 0) + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const rest = this.#held.get(caller)! - 1;
      if (rest > 0) this.#held.set(caller, rest);
      else this.#held.delete(caller);
      this.onRelease();
    };
  }
}
