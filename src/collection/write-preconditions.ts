import type { Value } from '../db/db.js';
import { type Conditions, seconds, type Tag } from '../http/preconditions.js';

/** The state that a record must have for a write; null: any. The statement itself checks it. */
export interface WritePreconditions {
  readonly versions: readonly number[] | null;
  readonly notVersions: readonly number[] | null;
  /** Milliseconds; compared by the second, as HTTP dates are. */
  readonly unmodifiedSince: number | null;
}

export const NO_PRECONDITIONS: WritePreconditions = {
  versions: null,
  notVersions: null,
  unmodifiedSince: null,
};

/**
 * A write's preconditions as its statement checks them. A version is current in each of its representations,
 * so that what was read as HTML or CSV, or compressed, can be named too.
 */
export function writePreconditionsOf(conditions: Conditions | undefined): WritePreconditions {
  if (conditions === undefined) return NO_PRECONDITIONS;
  const { match, unmodifiedSince, noneMatch } = conditions;
  return {
    versions:
      noneMatch === '*'
        ? []
        : match === undefined || match === '*'
          ? null
          : versionsOf(match.filter(({ weak }) => !weak)),
    notVersions: noneMatch === undefined || noneMatch === '*' ? null : versionsOf(noneMatch),
    unmodifiedSince: unmodifiedSince ?? null,
  };
}

/** The preconditions of a write that replaces this version of a record. */
export const onlyThis = ({ version }: { readonly version: number }): WritePreconditions => ({
  ...NO_PRECONDITIONS,
  versions: [version],
});

/** Whether a record in this state fulfils the preconditions of a write. */
export function admits(
  { versions, notVersions, unmodifiedSince }: WritePreconditions,
  version: number,
  modified: () => number,
): boolean {
  if (versions !== null && !versions.includes(version)) return false;
  if (notVersions?.includes(version)) return false;
  return unmodifiedSince === null || seconds(modified()) <= seconds(unmodifiedSince);
}

/** The ETag of a record in any of its representations, views and codings. */
const VERSION_TAG = /^"([1-9]\d{0,8})(?:-html|-csv|-[\w-]{27})?(?:-gzip|-br|-zstd)?"$/;

function versionsOf(tags: readonly Tag[]): number[] {
  return tags.flatMap(({ opaque }) => {
    const version = VERSION_TAG.exec(opaque)?.[1];
    return version === undefined ? [] : [Number(version)];
  });
}

/** The one version that the preconditions leave, when they ask for nothing else. */
export function onlyVersion({
  versions,
  notVersions,
  unmodifiedSince,
}: WritePreconditions): number | undefined {
  return notVersions === null && unmodifiedSince === null && versions?.length === 1 ? versions[0] : undefined;
}

/** The preconditions as the parameters of a statement. */
export function preconditionArguments({
  versions,
  notVersions,
  unmodifiedSince,
}: WritePreconditions): Value[] {
  return [
    versions && `{${versions.join(',')}}`,
    notVersions && `{${notVersions.join(',')}}`,
    unmodifiedSince === null ? null : new Date(unmodifiedSince).toISOString(),
  ];
}
