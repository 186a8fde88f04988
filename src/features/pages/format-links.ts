import type { SchemeName } from '../../auth/principal.js';
import { type Html, html } from '../../formats/html.js';
import { formatOf } from '../../http/media-types.js';
import type { Request } from '../../http/request.js';
import { originOf, type Site } from './site.js';

const LABELS: Readonly<Record<string, string>> = { json: 'JSON', csv: 'CSV', ndjson: 'NDJSON' };

/** Links to the other representations of a page, and the command that requests its JSON. */
export function formatLinks(
  site: Site,
  { path, headers }: Pick<Request, 'path' | 'headers'>,
  query: string,
  offers: readonly string[],
): Html {
  const own = plainQuery(query);
  const formats = offers.map(formatOf).filter((format) => Object.hasOwn(LABELS, format));
  const links = formats.map(
    (format) =>
      html` <a href="${site.prefix}${path}?${own === '' ? '' : `${own}&`}_format=${format}">${LABELS[format]}</a>`,
  );
  const address = `${originOf(site, headers.host)}${site.prefix}${path}${own === '' ? '' : `?${own}`}`;
  return html`<p class="formats"><span>The same data:</span>${links}</p>
<p><code>curl ${quoted(address)}${credentialOf(site.auth)}</code></p>`;
}

/** The parameters that the API reads. */
function plainQuery(query: string): string {
  return query
    .split('&')
    .filter((part) => part !== '' && !part.startsWith('_'))
    .join('&');
}

/** One argument of a POSIX shell. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

const OPTIONS: Readonly<Record<SchemeName, string>> = {
  bearer: ' -H "Authorization: Bearer $TOKEN"',
  'api-key': ' -H "X-API-Key: $KEY"',
  basic: ' -u "$EMAIL"',
  signature: ' -H "X-Timestamp: $TIME" -H "X-Signature: $SIGNATURE"',
  mtls: ' --cert client.pem',
};

/** How curl presents a credential of the first scheme. */
const credentialOf = ([scheme]: readonly SchemeName[]) => (scheme === undefined ? '' : OPTIONS[scheme]);
