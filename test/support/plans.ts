import { readDeclarations } from '../../src/declarations/read-declarations.js';
import { planText } from '../../src/schema/checked-plan.js';
import {
  type MigrateOptions,
  migrateCollections,
  planCollections,
} from '../../src/schema/migrate-collections.js';

/** The plan for a folder with declarations. */
export const planFor = (url: string, folder: string) => planCollections(url, readDeclarations(folder));

/** The titles of the steps that a plan has, and of its drops. */
export async function titlesFor(url: string, folder: string): Promise<string[]> {
  const { steps, drops } = await planFor(url, folder);
  return [...steps, ...drops].map(({ title }) => title);
}

/** The plan for a folder, as SQL. */
export const textFor = async (url: string, folder: string): Promise<string> =>
  planText(await planFor(url, folder));

/** Applies the declarations of a folder. */
export const migrateTo = (url: string, folder: string, options?: MigrateOptions) =>
  migrateCollections(url, readDeclarations(folder), options);

/** Throws before the step with that index. */
export const killedAt =
  (killed: number) =>
  (_: unknown, index: number): void => {
    if (index === killed) throw new Error('killed');
  };
