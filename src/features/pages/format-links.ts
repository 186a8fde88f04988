import { type Html, html } from '../../formats/html.js';
import { formatOf } from '../../http/media-types.js';
import type { Request } from '../../http/request.js';
import { originOf, type Site } from './site.js';

const FORMATS = ['json', 'csv', 'ndjson'];

/** Links to the other representations of a page, and the command that requests its JSON, without a credential. */
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
  return html`<p class="formats"><span>The same data:</span>${links}</p>
<p><code>curl ${address}</code></p>`;
}
