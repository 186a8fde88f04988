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

/** Why an administrator should look at things, by the lists that have them; false: there is no reason. */
const CONCERNS: Readonly<Record<string, (entry: JsonObject) => Part>> = {
  '/webhooks': ({ url, disabled_reason: reason, dropped_events: dropped }) =>
    (typeof reason === 'string' || Number(dropped) > 0) &&
    html`Webhook ${String(url)}: ${String(reason ?? 'events were lost')}`,
  '/keys': ({ label, expires_at: end }) =>
    typeof end === 'string' &&
    Date.parse(end) < Date.now() + EXPIRY_MS &&
    html`Key ${String(label)} ends ${timeHtml(end)}`,
  '/jobs': ({ state, collection }) => state === 'failed' && html`A job of ${String(collection)} failed`,
  [ACCOUNTS]: ({ scopes, email }) =>
    Array.isArray(scopes) && scopes.length === 0 && html`${String(email)} has no scopes`,
};

/** The part of the first page about what needs attention; undefined: nothing does, or the caller is no administrator. */
export async function attention({ site, request }: PageOptions): Promise<Part> {
  if (!request.principal.scopes.has('admin')) return undefined;
  // Access rules permit much to users without scopes.
  const needScopes = hasSignIn(site) && !site.collections.some(({ resource }) => resource.hasRules);
  const lists = Object.entries(CONCERNS).filter(([path]) => path !== ACCOUNTS || needScopes);
  const found = await Promise.all(
    lists.map(async ([path, textOf]) => {
      const entries = ((await readAs(site, request, path))?.data ?? []) as JsonObject[];
      const all = entries.map((entry): [id: string, text: Part] => [`/${String(entry.id)}`, textOf(entry)]);
      const concerns = all.filter(([, text]) => text);
      const rest = concerns.splice(MAX_SHOWN).length;
      if (rest > 0) concerns.push(['', `${rest} more`]);
      return concerns.map(([id, text]) => html`<li><a href="${site.prefix}${path}${id}">${text}</a></li>\n`);
    }),
  );
  const items = found.flat();
  return items.length > 0 && html`<h2>Needs attention</h2><ul>${items}</ul>`;
}
