import { FeatureSettings } from '../../config/config.js';
import { pathIn } from '../../config/parsers.js';

export const EMBEDDED_SETTINGS = new FeatureSettings({
  read: ({ path, folder }) => ({
    /** The folder of the data. */
    dataDir: path('DATA_DIR') ?? pathIn(folder, './data'),
  }),
  isOn: (_own, { databaseUrl }) => databaseUrl === undefined,
});
