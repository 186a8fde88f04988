import { isNeeded, type Reference, type Resource } from '../../collection/resource.js';
import type { Source } from './sources.js';

/** The sources in the order in which they are stored, and what refers to later records. */
export interface ImportOrder {
  readonly ordered: readonly Source[];
  /** The collections to which records refer before they are stored: those of a cycle, and of references to themselves. */
  readonly awaited: ReadonlySet<string>;
}

/** The sources in the order of the file, each after those to which it refers. In a cycle, required references decide. */
export function orderOf(sources: readonly Source[], resources: ReadonlyMap<string, Resource>): ImportOrder {
  const byName = new Map(sources.map((source) => [source.collection, source]));
  const referred = (
    name: string,
    isWanted: (reference: Reference, resource: Resource) => boolean,
  ): string[] => {
    const resource = resources.get(name)!;
    const found = resource.references.filter((each) => isWanted(each, resource)).map(({ to }) => to);
    return found.filter((to) => byName.has(to));
  };
  const isRequired = (reference: Reference, resource: Resource) => isNeeded(resource, reference);
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean => {
    if (from === to) return true;
    seen.add(from);
    return referred(from, () => true).some((each) => !seen.has(each) && reaches(each, to, seen));
  };
  const ordered = new Set<string>();
  const add = (name: string, path: readonly string[]): void => {
    if (ordered.has(name) || path.includes(name)) return;
    const below = [...path, name];
    for (const to of referred(name, isRequired)) add(to, below);
    for (const to of referred(name, (reference, resource) => !isRequired(reference, resource)))
      if (!reaches(to, name)) add(to, below);
    ordered.add(name);
  };
  for (const { collection } of sources) add(collection, []);
  const names = [...ordered];
  const isLater = (to: string, from: string) => names.indexOf(to) >= names.indexOf(from);
  const awaited = new Set(
    names.flatMap((from) => referred(from, () => true).filter((to) => isLater(to, from))),
  );
  return { ordered: names.map((name) => byName.get(name)!), awaited };
}
