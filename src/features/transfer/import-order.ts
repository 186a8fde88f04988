import type { Resource } from '../../collection/resource.js';
import type { Source } from './sources.js';

/** The sources in the order in which they are stored. */
export interface ImportOrder {
  readonly ordered: readonly Source[];
  /** Advice for records that refer to a collection which is stored later; undefined: there is none. */
  readonly advice: string | undefined;
}

/** The sources in the order of the file, each after those to which it refers. In a circle, required references decide. */
export function orderOf(sources: readonly Source[], resources: ReadonlyMap<string, Resource>): ImportOrder {
  const byName = new Map(sources.map((source) => [source.collection, source]));
  const referred = (
    from: string,
    isRequired?: boolean,
  ): { readonly to: string; readonly field: string }[] => {
    const resource = resources.get(from)!;
    return resource.references.filter(
      (each) =>
        byName.has(each.to) &&
        each.to !== from &&
        (isRequired === undefined || resource.schema.required.includes(each.field) === isRequired),
    );
  };
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
    from === to ||
    referred(from).some((each) => seen.size < seen.add(each.to).size && reaches(each.to, to, seen));
  const ordered = new Set<string>();
  const add = (name: string, path: readonly string[]): void => {
    if (ordered.has(name) || path.includes(name)) return;
    for (const { to } of referred(name, true)) add(to, [...path, name]);
    for (const { to } of referred(name, false)) if (!reaches(to, name)) add(to, [...path, name]);
    ordered.add(name);
  };
  for (const { collection } of sources) add(collection, []);
  const names = [...ordered];
  const later = names.flatMap((from, at) =>
    referred(from)
      .filter(({ to }) => names.indexOf(to) > at)
      .map(({ field }) => `${field} of ${from}`),
  );
  return {
    ordered: names.map((name) => byName.get(name)!),
    advice:
      later.length === 0
        ? undefined
        : `Collections refer to each other. Import the records without ${later.join(' and ')} first, then all by --on-conflict replace.`,
  };
}
