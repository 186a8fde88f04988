import { noBrowser } from '../../support/chromium.js';
import { COLOUR_RULES, checkPage, SIZE_RULES, type View } from '../../support/page-checks.js';
import t from '../../support/test.js';
import { filledTracker } from './offices.js';

const WIDTHS = [1280, 768, 390, 320];
/** The width where the menu and the cards replace the side bar and the table. */
const NARROW = 390;
/** Only the style differs: a window of another width can have findings about sizes, and another theme findings about colours. */
const VIEWS = WIDTHS.flatMap((width): View[] => [
  {
    width,
    colorScheme: 'light',
    ...(width === 1280 || width === NARROW ? {} : { rules: [...SIZE_RULES, ...COLOUR_RULES] }),
  },
  { width, colorScheme: 'dark', rules: COLOUR_RULES },
]);
/** A member sees the same style, with fewer controls. */
const VIEWS_OF_MEMBERS: readonly View[] = [
  { width: 1280, colorScheme: 'light' },
  { width: NARROW, colorScheme: 'dark', rules: [...SIZE_RULES, ...COLOUR_RULES] },
];
/** The statuses of pages for a member, besides 200. */
const OF_MEMBERS: readonly (readonly [path: RegExp, status: number])[] = [
  [/^\/(issues\/)?nothing$|^\/jobs\//, 404],
  [/^\/(user-accounts|keys|webhooks|oauth-clients|declaration-files|api-versions)/, 403],
];
/** Pages with a table whose first row a person sees without scrolling. */
const LISTS = /^\/(issues(\?(filter|sort).*)?|projects\/[^/]+\/issues|users|keys|webhooks|jobs|events)$/;
const OPEN_ALL = 'document.querySelectorAll("details:not(.pop)").forEach((each) => { each.open = true; })';
const SHIFT_AND_ROW = `new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => list.getEntries().forEach(({ value }) => { sum += value; }))
    .observe({ type: 'layout-shift', buffered: true });
  const { y } = (document.querySelector('tbody tr') ?? document.body).getBoundingClientRect();
  requestAnimationFrame(() => requestAnimationFrame(() => done([sum, y])));
})`;

t.test('every kind of page fits each width and theme', { skip: noBrowser }, async (t) => {
  const { open, admin, member, paths } = await filledTracker(t);
  // A long table cuts its last row at the end of a lower window, where it scrolls.
  const page = await open(admin.email, { viewport: { width: 1280, height: 4000 } });
  for (const path of paths) {
    const response = await page.goto(path);
    t.equal(response!.status(), /nothing$/.test(path) && !path.includes('=') ? 404 : 200, path);
    const [shift, y] = await page.evaluate<[number, number]>(SHIFT_AND_ROW);
    t.equal(shift, 0, `${path}: nothing moves after it is shown`);
    if (LISTS.test(path)) t.ok(y <= 240, `${path}: the first row is at ${y}`);
    await page.evaluate(OPEN_ALL);
    await checkPage(t, page, path, VIEWS);
  }
  await page.setViewportSize({ width: 390, height: 800 });
  await page.goto('/issues?filter[status]=open');
  const [moved, first] = await page.evaluate<[number, number]>(SHIFT_AND_ROW);
  t.ok(moved === 0 && first <= 700, `on a telephone, the first row is at ${first}`);
  await page.goto('/issues?group=status&sort=-count');
  const bar = await page.locator('.bar rect').first().boundingBox();
  t.ok(bar!.width >= 250, `a bar of ${bar!.width} px on a telephone`);
  const own = await open(member.email, { viewport: { width: 1280, height: 4000 } });
  for (const path of paths) {
    const [, expected = 200] = OF_MEMBERS.find(([each]) => each.test(path)) ?? [];
    t.equal((await own.goto(path))!.status(), expected, path);
    await own.evaluate(OPEN_ALL);
    await checkPage(t, own, `${path} of a member`, VIEWS_OF_MEMBERS);
  }
});
