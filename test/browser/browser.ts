import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, chromium, type Page } from 'playwright-core';
import type { Test } from 'tap';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);

/** Why tests in a browser are skipped; false: they are not. */
export const noBrowser = CHROMIUM === undefined && 'chromium is not installed';

let browser: Promise<Browser> | undefined;

/** A page of this width in a browser of its own session. It fails the test if it sends a request to another origin. */
export async function openPage(
  t: Test,
  base: string,
  width = 1024,
  options: Readonly<Record<string, unknown>> = {},
): Promise<Page> {
  browser ??= chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox'] });
  const context = await (await browser).newContext({
    viewport: { width, height: 800 },
    baseURL: base,
    ...options,
  });
  t.teardown(() => context.close());
  const page = await context.newPage();
  page.on('request', (request) => {
    if (!request.url().startsWith(base)) t.fail(`a request to ${request.url()}`);
  });
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) t.fail(message.text());
  });
  return page;
}

export const closeBrowser = async (): Promise<void> => (await browser)?.close();

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Finding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/**
 * What every page must be: accessible by WCAG 2.2 AA as far as axe-core can say, and not wider than the window. `tags` of
 * rules; absent: all, also those that are no part of WCAG.
 */
export async function checkPage(t: Test, page: Page, name: string, tags?: readonly string[]): Promise<void> {
  const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
  t.ok(overflow <= 0, `${name}: nothing is wider than the window`);
  await page.evaluate(AXE);
  const findings = await page.evaluate<readonly Finding[]>(
    `axe.run(document, ${JSON.stringify({ resultTypes: ['violations'], ...(tags ? { runOnly: tags } : {}) })})
      .then(({ violations }) => violations)`,
  );
  const texts = findings.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
  t.same(texts, [], `${name}: no findings of axe-core`);
}
