import { editDistance } from '../edit-distance.js';

/** The name that a misspelt one may be meant to be, as the end of a message; empty: none is near. */
export function nearest(name: string, names: readonly string[]): string {
  const distance = (each: string) => editDistance(name.toLowerCase(), each.toLowerCase());
  const [first] = names.filter((each) => distance(each) <= 2).sort((a, b) => distance(a) - distance(b));
  return first === undefined ? '' : `; did you mean ${first}?`;
}
