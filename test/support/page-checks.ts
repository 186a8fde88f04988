import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { openPage } from './chromium.js';
import type { Test } from './test.js';

/** The size and the colours of a window. */
export interface View {
  readonly width: number;
  /** Absent: light. */
  readonly colorScheme?: 'light' | 'dark';
  /** The rules of axe-core that can have other findings here than in a view before; absent: all. */
  readonly rules?: readonly string[];
}

/** The rules about the colours of what is shown, and those about its size. */
export const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];
export const SIZE_RULES = ['target-size', 'scrollable-region-focusable'];

/** Gives an open page each of the views: its layout and its colours follow from its style alone. */
async function inViews(
  page: Page,
  views: readonly View[],
  check: (label: string, view: View) => Promise<void>,
): Promise<void> {
  const size = page.viewportSize()!;
  for (const view of views) {
    const { width, colorScheme = 'light' } = view;
    await page.setViewportSize({ ...size, width });
    await page.emulateMedia({ colorScheme });
    await check(`${width} px, ${colorScheme}`, view);
  }
  await page.setViewportSize(size);
}

/**
 * How far the page is wider than the window; and the controls that a pointer cannot reach, since something else is in front
 * of them. A link to the content is left of the window until it has the focus.
 */
const layoutOf = (except: string) => `(() => {
  const overflow = document.documentElement.scrollWidth - window.innerWidth;
  const covered = [];
  for (const control of document.querySelectorAll('a[href],button,input:not([type=hidden]),select,textarea,summary')) {
    if (control.matches('${except}') || !control.checkVisibility({ visibilityProperty: true })) continue;
    control.scrollIntoView({ block: 'center', behavior: 'instant' });
    const { left, right, top, bottom } = control.getClientRects()[0];
    if (right <= 0) continue;
    const front = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    if (!control.contains(front)) covered.push(control.outerHTML.slice(0, 200) + ' is behind ' + front?.outerHTML.slice(0, 200));
  }
  // Scrolling to an element also lets the Tab key go on from there.
  document.documentElement.scrollIntoView({ behavior: 'instant' });
  return { overflow, covered };
})()`;

async function checkLayout(t: Test, page: Page, name: string, except = ':not(*)'): Promise<void> {
  const layout = await page.evaluate<{ overflow: number; covered: readonly string[] }>(layoutOf(except));
  t.ok(layout.overflow <= 0, `${name}: nothing is wider than the window`);
  t.same(layout.covered, [], `${name}: nothing covers a control`);
}

/** The page fits into each view, is in English, and each of its fields has a label. */
export async function checkForm(t: Test, page: Page, name: string, views: readonly View[]): Promise<void> {
  await inViews(page, views, (label) => checkLayout(t, page, `${name}, ${label}`));
  const { unlabelled, language } = await page.evaluate<{ unlabelled: number; language: string }>(`({
    unlabelled: [...document.querySelectorAll('input:not([type=hidden]):not([hidden])')]
      .filter(({ labels }) => !labels?.length).length,
    language: document.documentElement.lang,
  })`);
  t.equal(unlabelled, 0, `${name}: every field has a label`);
  t.equal(language, 'en', `${name}: the language`);
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * Loads axe-core into a page and into those that are opened in its place: Chromium then compiles it once, which takes longer
 * than most checks.
 */
async function loadAxe(page: Page): Promise<void> {
  if (await page.evaluate<boolean>('"axe" in window')) return;
  await page.addInitScript({ content: AXE });
  await page.evaluate(AXE);
}

/** axe-core checks the size of targets only on request. */
const axeOptions = (runOnly?: readonly string[]): string =>
  JSON.stringify({
    resultTypes: ['violations'],
    ...(runOnly ? { runOnly } : { rules: { 'target-size': { enabled: true } } }),
  });

interface Finding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

export interface PageChecks {
  /** The rules of axe-core; absent: all, also those that are no part of WCAG. */
  readonly tags?: readonly string[];
  /** A selector of controls that something may cover. */
  readonly except?: string;
}

/** The page fits into each view, and is accessible by WCAG 2.2 AA as far as axe-core can say. */
export async function checkPage(
  t: Test,
  page: Page,
  name: string,
  views: readonly View[],
  { tags, except }: PageChecks = {},
): Promise<void> {
  // With its style.
  await page.waitForLoadState('load');
  await loadAxe(page);
  await inViews(page, views, async (label, { rules = tags }) => {
    // Colours change no layout.
    if (rules !== COLOUR_RULES) await checkLayout(t, page, `${name}, ${label}`, except);
    const findings = await page.evaluate<readonly Finding[]>(
      `axe.run(document, ${axeOptions(rules)}).then(({ violations }) => violations)`,
    );
    const texts = findings.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
    );
    t.same(texts, [], `${name}, ${label}: no findings of axe-core`);
  });
}

/** Checks what a page without scripts shows, in a page with the scripts that axe-core needs. */
export async function checkCopy(
  t: Test,
  base: string,
  page: Page,
  name: string,
  views: readonly View[],
): Promise<void> {
  const copy = await openPage(t, base);
  await copy.goto(page.url());
  await copy.setContent(await page.content());
  await checkPage(t, copy, name, views);
}
