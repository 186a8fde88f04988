import { html, type Part } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { readAs } from './inner-read.js';
import type { PageOptions } from './pages.js';
import { hasSignIn } from './site.js';
import { timeHtml } from './values.js';

/** How long before its end a key is shown. */
const EXPIRY_MS = 14 * 24 * 3_600_000;
/** Things of one kind that are shown. */
const MAX_SHOWN = 5;

const ACCOUNTS = '/user-accounts';

interface Concern {
  readonly path: string;
  readonly needsCare: (entry: JsonObject) => boolean;
  readonly text: (entry: JsonObject) => Part;
}

/** The things that an administrator should look at, by the lists that have them. */
const CONCERNS: readonly Concern[] = [
  {
    path: '/webhooks',
    needsCare: ({ disabled_reason, dropped_events }) =>
      typeof disabled_reason === 'string' || Number(dropped_events) > 0,
    text: ({ url, disabled_reason }) =>
      html`Webhook ${String(url)}: ${String(disabled_reason ?? 'events were lost')}`,
  },
  {
    path: '/keys',
    needsCare: ({ expires_at }) =>
      typeof expires_at === 'string' && Date.parse(expires_at) < Date.now() + EXPIRY_MS,
    text: ({ label, expires_at }) => html`Key ${String(label)} ends ${timeHtml(String(expires_at))}`,
  },
  {
    path: '/jobs',
    needsCare: ({ state }) => state === 'failed',
    text: ({ collection }) => html`A job of ${String(collection)} failed`,
  },
  {
    path: ACCOUNTS,
    needsCare: ({ scopes }) => Array.isArray(scopes) && scopes.length === 0,
    text: ({ email }) => html`${String(email)} has no scopes`,
  },
];

/** The part of the first page about what needs attention; undefined: nothing does, or the caller is no administrator. */
export async function attention({ site, request }: PageOptions): Promise<Part> {
  if (!request.principal.scopes.has('admin') || request.run) return undefined;
  // Access rules permit much to users without scopes.
  const hasRules = site.collections.some(({ resource }) => resource.hasRules);
  const found = await Promise.all(
    CONCERNS.map(async ({ path, needsCare, text }) => {
      if (path === ACCOUNTS && (hasRules || !hasSignIn(site))) return [];
      const entries = ((await readAs(site, request, path))?.data ?? []) as JsonObject[];
      const all = entries.filter(needsCare);
      const more =
        all.length > MAX_SHOWN &&
        html`<li><a href="${site.prefix}${path}">${all.length - MAX_SHOWN} more</a></li>`;
      return [
        ...all
          .slice(0, MAX_SHOWN)
          .map(
            (each) => html`<li><a href="${site.prefix}${path}/${String(each.id)}">${text(each)}</a></li>\n`,
          ),
        more,
      ];
    }),
  );
  const items = found.flat().filter((each) => each);
  return items.length > 0 && html`<h2>Needs attention</h2><ul>${items}</ul>`;
}
