import { html, type Part } from '../../formats/html.js';
import type { JsonObject } from '../../json.js';
import { readAs } from './inner-read.js';
import type { PageOptions } from './pages.js';
import { hasSignIn, type Site } from './site.js';
import { timeHtml } from './values.js';

/** How long before its end a key is shown. */
const EXPIRY_MS = 14 * 24 * 3_600_000;
/** Things of one kind that are shown. */
const MAX_SHOWN = 5;

/** Why an administrator should look at things, by the lists that have them; false: there is no reason. */
const CONCERNS: Readonly<Record<string, (entry: JsonObject, site: Site) => Part>> = {
  '/webhooks': ({ url, disabled_reason: reason, dropped_events: dropped }) =>
    (typeof reason === 'string' || Number(dropped) > 0) &&
    html`Webhook ${String(url)}: ${String(reason ?? 'events were lost')}`,
  '/keys': ({ label, expires_at: end }) =>
    typeof end === 'string' &&
    Date.parse(end) < Date.now() + EXPIRY_MS &&
    html`Key ${String(label)} ends ${timeHtml(end)}`,
  '/jobs': ({ state, collection }) => state === 'failed' && html`A job of ${String(collection)} failed`,
  // Access rules permit much to users without scopes.
  '/user-accounts': ({ scopes, email }, site) =>
    hasSignIn(site) &&
    !site.collections.some(({ resource }) => resource.hasRules) &&
    (scopes as string[]).length === 0 &&
    html`${String(email)} has no scopes`,
};

/** The part of the first page about what needs attention; undefined: nothing does, or the caller is no administrator. */
export async function attention({ site, request }: PageOptions): Promise<Part> {
  if (!request.principal.scopes.has('admin')) return undefined;
  const found = await Promise.all(
    Object.entries(CONCERNS).map(async ([path, textOf]) => {
      const entries = ((await readAs(site, request, path))?.data ?? []) as JsonObject[];
      const all = entries.map(({ id, ...entry }) => ({ id: String(id), text: textOf(entry, site) }));
      return all
        .filter(({ text }) => text)
        .slice(0, MAX_SHOWN)
        .map(({ id, text }) => html`<li><a href="${site.prefix}${path}/${id}">${text}</a></li>\n`);
    }),
  );
  const items = found.flat();
  return items.length > 0 && html`<h2>Needs attention</h2><ul>${items}</ul>`;
}
