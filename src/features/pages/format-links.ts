import type { SchemeName } from '../../auth/principal.js';
import { type Html, html } from '../../formats/html.js';
import { formatOf } from '../../http/media-types.js';
import type { Request } from '../../http/request.js';
import { originOf, type Site } from './site.js';

const FORMATS = ['json', 'csv', 'ndjson'];

/** Links to the other representations of a page, and the command that requests its JSON. */
export function formatLinks(
  site: Site,
  { path, headers }: Pick<Request, 'path' | 'headers'>,
  query: string,
  offers: readonly string[],
): Html {
  // The parameters that the API reads.
  const own = query.split('&').filter((part) => part !== '' && !part.startsWith('_'));
  const hrefWith = (...more: string[]) =>
    `${site.prefix}${path}?${[...own, ...more].join('&')}`.replace(/\?$/, '');
  const links = FORMATS.filter((format) => offers.some((offer) => formatOf(offer) === format)).map(
    (format) => html` <a href="${hrefWith(`_format=${format}`)}">${format.toUpperCase()}</a>`,
  );
  // One argument of a POSIX shell.
  const address = `'${(originOf(site, headers.host) + hrefWith()).replaceAll("'", `'\\''`)}'`;
  const [scheme] = site.auth;
  return html`<p class="formats"><span>The same data:</span>${links}</p>
<p><code>curl ${address}${scheme && OPTIONS[scheme]}</code></p>`;
}

/** How curl presents a credential. */
const OPTIONS: Readonly<Record<SchemeName, string>> = {
  bearer: ' -H "Authorization: Bearer $TOKEN"',
  'api-key': ' -H "X-API-Key: $KEY"',
  basic: ' -u "$EMAIL"',
  signature: ' -H "X-Timestamp: $TIME" -H "X-Signature: $SIGNATURE"',
  mtls: ' --cert client.pem',
};
