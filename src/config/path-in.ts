import { isAbsolute, join } from 'node:path';

/** A path for Node's file functions: a relative one is in the folder. An empty folder is that of the process. */
export function pathIn(folder: string, path: string): string {
  return folder === '' || isAbsolute(path) ? path : join(folder, path);
}
