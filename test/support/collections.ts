import { readDeclarations } from '../../src/declarations/read-declarations.js';
import { resourcesWithoutRefs } from '../../src/declarations/resource-of.js';
import { folderOf } from './folder.js';
import { COLLECTIONS } from './names.js';
import { SCHEMA } from './sql.js';
import type { Test } from './test.js';

/** The collections that the tests use. */
export const RESOURCES = resourcesWithoutRefs(readDeclarations(COLLECTIONS.COLLECTIONS).collections, {
  schema: SCHEMA,
});

const named = (name: string) => RESOURCES.find((resource) => resource.name === name)!;
export const [users, items, posts] = [named('users'), named('items'), named('posts')];

/** Collections for whose records there are invitations. */
export const INVITING = [{ ...items, invited: 'userId' }];

/** A folder with declarations, by file name; removed after the test. */
export const declare = (t: Test, files: Readonly<Record<string, unknown>>): string => folderOf(t, files);
