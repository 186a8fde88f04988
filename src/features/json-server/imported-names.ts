/** The beginning of the name of a collection whose records the service's own one of the former name refused in an import. */
const REFUSED = /^legacy_/;

/** The names that a collection may have had in the file of a json-server, for which an import gave it another one. */
function formerNamesOf(name: string): string[] {
  const plain = name.replace(REFUSED, '');
  const camel = plain.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const names = new Set([plain, camel, plain.replaceAll('_', '-')]);
  names.delete(name);
  return [...names];
}

/** The collections by the names that lead to them: their own, and former ones that no other has. */
export function namesOf(collections: readonly string[]): ReadonlyMap<string, string> {
  const former = collections.flatMap((name) => formerNamesOf(name).map((each) => [each, name] as const));
  return new Map([...former, ...collections.map((name) => [name, name] as const)]);
}
