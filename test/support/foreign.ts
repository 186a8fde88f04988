import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Test } from './test.js';

/*
 * The packages of test/clients: clients, generators and linters of others. `npm ci` in the root does not install them, so that
 * only continuous integration waits for them.
 */

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const CLIENTS = join(ROOT, 'test/clients');
const PACKAGES = join(CLIENTS, 'node_modules');

/** A file of a package of test/clients. Throws if they are not installed. */
export function foreignFile(path: string): string {
  if (!existsSync(PACKAGES))
    throw new Error('This test needs the packages of test/clients: npm ci --prefix test/clients');
  return join(PACKAGES, path);
}

/** Loads a package of test/clients as an object of the type that the test needs. */
export async function foreign<T>(name: string): Promise<T> {
  foreignFile(name);
  const { load } = (await import(pathToFileURL(join(CLIENTS, 'load.js')).href)) as {
    load: (name: string) => Promise<T>;
  };
  return load(name);
}

/** A new folder for programs that import packages of test/clients; it is removed after the test. */
export function foreignFolder(t: Test, name: string): string {
  const folder = join(ROOT, 'dist', `${name}-${process.pid}`);
  mkdirSync(folder);
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(foreignFile(''), join(folder, 'node_modules'));
  return folder;
}

/** The part of openapi-typescript that makes types of a document. */
export interface TypeGenerator {
  default: (document: object) => Promise<readonly object[]>;
  astToString: (ast: readonly object[]) => string;
}

/** recheck, which searches a regular expression for an attack. */
export interface PatternChecker {
  checkSync: (
    source: string,
    flags: string,
    limits: object,
  ) => { readonly status: string; readonly complexity?: { readonly type: string } };
}
