import type { Page } from './visitor.js';

/** The options that a page gives to the browser's WebAuthn API. */
export function optionsOf({ text }: Page): string {
  return /data-options="([^"]*)"/.exec(text)![1]!.replaceAll('&#34;', '"');
}

/** The hidden fields of the form for passkeys, among others. */
export function tokenOf({ text }: Page) {
  return { token: /name="token" value="([^"]*)"/.exec(text)![1]! };
}
