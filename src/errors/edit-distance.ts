/** How many characters to insert, delete, replace, or exchange with their neighbour, to get one text from the other. */
export function editDistance(a: string, b: string): number {
  let [before, row]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isExchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const shortest = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (isSame ? 0 : 1));
      next.push(isExchanged ? Math.min(shortest, before[j - 2]! + 1) : shortest);
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}

/** The name that a misspelt one may be meant to be, as the end of a message; empty: none is near. */
export function nearest(name: string, names: readonly string[]): string {
  const distance = (each: string) => editDistance(name.toLowerCase(), each.toLowerCase());
  const [first] = names.filter((each) => distance(each) <= 2).sort((a, b) => distance(a) - distance(b));
  return first === undefined ? '' : `; did you mean ${first}?`;
}
