import { readFileSync } from 'node:fs';
import { FeatureSettings } from '../../config/config.js';
import { pathIn } from '../../config/parsers.js';

export const PAGE_SETTINGS = new FeatureSettings({
  read: ({ flag, read, optional, folder }) => ({
    /** Whether browsers get pages. */
    pages: flag('HTML_PAGES', true),
    /** Stands in the head of pages and in their titles. */
    siteName: read('SITE_NAME', 'Plinth', 'a text of up to 40 characters', (text) =>
      text.length <= 40 ? text : undefined,
    ),
    /** The colour of links and main buttons; undefined: blue. */
    siteColour: optional(
      'SITE_COLOUR',
      'a dark colour as #rrggbb, with a contrast of 4.5 to white',
      (text) => (/^#[\da-f]{6}$/i.test(text) && contrastToWhite(text) >= 4.5 ? text : undefined),
    ),
    /** The URL of an image with its content; undefined: none. */
    siteLogo: optional('SITE_LOGO', `an SVG or PNG file of up to ${MAX_LOGO} bytes`, (path) =>
      logoOf(pathIn(folder, path)),
    ),
  }),
  isOn: ({ pages }) => pages,
});

/** The style of pages contains the logo. */
const MAX_LOGO = 32_768;

function logoOf(path: string): string | undefined {
  const [, format] = /\.(svg|png)$/i.exec(path) ?? [];
  try {
    const bytes = readFileSync(path);
    const type = format?.toLowerCase() === 'svg' ? 'svg+xml' : 'png';
    return format && bytes.length <= MAX_LOGO
      ? `data:image/${type};base64,${bytes.toString('base64')}`
      : undefined;
  } catch {
    return undefined;
  }
}

/** The contrast of a colour to white (WCAG 2.2, 1.4.3). */
function contrastToWhite(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05);
}
