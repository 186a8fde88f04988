import { editDistance } from '../errors/edit-distance.js';
import type { Problem } from '../errors/problem.js';
import { noSuchPath } from '../errors/request-errors.js';

/** Longer paths get no suggestion. */
const MAX_LENGTH = 200;
const MAX_DISTANCE = 2;

/** Finds the 404 for an unknown path, with a known path like it if there is one. `isKnown` says whether a path exists. */
export function nearestPaths(
  templates: readonly string[],
): (path: string, isKnown: (path: string) => boolean) => Problem {
  const names = [...new Set(templates.map((path) => path.split('/')[1]!))];
  return (path, isKnown) =>
    noSuchPath(path.length > MAX_LENGTH ? undefined : candidates(path, names).find(isKnown));
}

/** Paths that the client may have meant, the likeliest first. */
function candidates(path: string, names: readonly string[]): string[] {
  const segments = path.split('/').filter((segment) => segment !== '');
  const versions = segments.filter((segment) => !/^(?:api|rest|v\d+)$/i.test(segment));
  return [segments, versions].flatMap((some) => {
    const [first = '', ...rest] = some;
    return [first, ...names.filter((name) => isLike(name, first))].map(
      (name) => `/${[name, ...rest].join('/')}`,
    );
  });
}

function isLike(name: string, given: string): boolean {
  const lower = given.toLowerCase();
  if (name === lower) return true;
  const limit = Math.min(MAX_DISTANCE, Math.floor(name.length / 3));
  return Math.abs(name.length - lower.length) <= limit && editDistance(name, lower) <= limit;
}
