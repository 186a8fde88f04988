import { readFileSync, statSync } from 'node:fs';
import { FeatureSettings } from '../../config/config.js';
import { pathIn } from '../../config/parsers.js';

/** The style of pages contains the logo. */
const MAX_LOGO = 32_768;
const LOGO_TYPES = { '.svg': 'svg+xml', '.png': 'png' };

export const PAGE_SETTINGS = new FeatureSettings({
  read: ({ flag, text, optional, folder }) => ({
    /** Whether browsers get pages. */
    pages: flag('HTML_PAGES', true),
    /** Stands in the head of pages and in their titles. */
    siteName: text('SITE_NAME') ?? 'Plinth',
    /** The colour of links and main buttons; undefined: blue. */
    siteColour: optional('SITE_COLOUR', 'a colour as #rrggbb', (colour) =>
      /^#[\da-f]{6}$/i.test(colour) ? colour : undefined,
    ),
    /** The URL of an image with its content; undefined: none. */
    siteLogo: optional('SITE_LOGO', `an SVG or PNG file of up to ${MAX_LOGO} bytes`, (path) =>
      logoOf(pathIn(folder, path)),
    ),
  }),
  isOn: ({ pages }) => pages,
});

function logoOf(path: string): string | undefined {
  const [, type] = Object.entries(LOGO_TYPES).find(([ending]) => path.toLowerCase().endsWith(ending)) ?? [];
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile();
  const bytes = type !== undefined && isFile ? readFileSync(path) : undefined;
  return bytes && bytes.length <= MAX_LOGO
    ? `data:image/${type};base64,${bytes.toString('base64')}`
    : undefined;
}
