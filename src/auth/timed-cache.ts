import QuickLRU from 'quick-lru';

interface Entry<V> {
  readonly value: V;
  /** Milliseconds since 1970. */
  readonly storedAt: number;
}

/**
 * Values that expire, of which the least recently used are evicted. Values that were stored later than now have expired,
 * too: the clock of the machine was set forward and back meanwhile, and they would last for as long as that step.
 */
export class TimedCache<V> {
  readonly #entries: QuickLRU<string, Entry<V>>;

  constructor(maxSize: number) {
    this.#entries = new QuickLRU({ maxSize: maxSize / 2 });
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    return entry && entry.storedAt <= Date.now() ? entry.value : undefined;
  }

  set(key: string, value: V, maxAgeMs: number): void {
    this.#entries.set(key, { value, storedAt: Date.now() }, { maxAge: maxAgeMs });
  }

  clear(): void {
    this.#entries.clear();
  }
}
