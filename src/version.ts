import { readFileSync } from 'node:fs';

/** The version of Plinth, in package.json. In a bundle this module is replaced by one with the text inlined: .ci/bundle.js. */
export function versionOf(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
