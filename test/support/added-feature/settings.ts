import { FeatureSettings } from '../../../src/config/config.js';

export const STATS_SETTINGS = new FeatureSettings({
  read: ({ flag }) => ({
    /** Whether the service has /stats. */
    stats: flag('STATS'),
  }),
  isOn: ({ stats }) => stats,
  paths: ['stats'],
  typeNames: ['Stats'],
});
