import { statSync } from 'node:fs';
import { join } from 'node:path';
import { FeatureSettings } from '../../config/config.js';
import { pathIn } from '../../config/parsers.js';

/** The page of the application, in its folder. */
export const INDEX = 'index.html';

export const SITE_SETTINGS = new FeatureSettings({
  read: ({ optional, folder }) => ({
    /** The folder with the files of an application; undefined: none are served. */
    site: optional('SITE', `a folder with the files of an application, ${INDEX} among them`, (path) => {
      const site = pathIn(folder, path);
      return statSync(join(site, INDEX), { throwIfNoEntry: false })?.isFile() ? site : undefined;
    }),
  }),
  isOn: ({ site }) => site !== undefined,
});
