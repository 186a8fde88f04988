/** Numbers from 0 to 1 that follow from a seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Integers from 0 to less than a bound that follow from a seed. */
export function integersOf(seed: number): (below: number) => number {
  const random = randomOf(seed);
  return (below) => (random() * 2 ** 32) % below;
}

/** All values in an order that follows from a seed. */
export function shuffled<T>(values: readonly T[], seed: number): T[] {
  const random = randomOf(seed);
  const all = [...values];
  for (let last = all.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [all[last], all[other]] = [all[other]!, all[last]!];
  }
  return all;
}
