import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { atEnd, type Test } from './test.js';
import { notInDefault } from './thorough.js';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);

/** Why tests in a browser are skipped; false: they are not. */
export const noBrowser = notInDefault || (CHROMIUM === undefined && 'chromium is not installed');

/** How long a browser may take to start, and a page to reach a state. It only bounds tests that fail. */
const PATIENCE_MS = 180_000;

let browser: Promise<Browser> | undefined;

/** Starts the browser that all test files of this process use. */
async function launch(): Promise<Browser> {
  const launched = await chromium.launch({
    executablePath: CHROMIUM!,
    args: ['--no-sandbox'],
    timeout: PATIENCE_MS,
  });
  atEnd(() => launched.close());
  return launched;
}

export interface PageOptions extends BrowserContextOptions {
  readonly width?: number;
  /** The beginnings of the addresses that the page may request besides those of its own origin. */
  readonly alsoRequests?: readonly string[];
}

/**
 * A page without cookies or stored data of other tests, closed when the test ends. Paths are relative to `base`. The page
 * fails the test if it sends a request to another origin, or if its content security policy blocks something.
 */
export async function openPage(
  t: Test,
  base: string,
  { width = 1024, alsoRequests = [], ...options }: PageOptions = {},
): Promise<Page> {
  browser ??= launch();
  const context = await (await browser).newContext({
    viewport: { width, height: 800 },
    baseURL: base,
    ...options,
  });
  t.teardown(() => context.close());
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  page.on('request', (request) => {
    if (![base, ...alsoRequests].some((each) => request.url().startsWith(each)))
      t.fail(`a request to ${request.url()}`);
  });
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) t.fail(message.text());
  });
  return page;
}
