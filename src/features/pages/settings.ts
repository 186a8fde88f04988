import { FeatureSettings } from '../../config/config.js';

export const PAGE_SETTINGS = new FeatureSettings({
  read: ({ flag }) => ({
    /** Whether browsers get pages. */
    pages: flag('HTML_PAGES', true),
  }),
  isOn: ({ pages }) => pages,
});
