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
