import { FeatureSettings } from '../../config/config.js';

export const VERSION_CALL_SETTINGS = new FeatureSettings({
  read: ({ flag }) => ({
    /** Whether the service counts the calls of versions that retire. */
    versionCalls: flag('VERSION_CALLS', true),
  }),
  isOn: ({ versionCalls }) => versionCalls,
  paths: ['admin'],
  typeNames: ['VersionCalls', 'VersionCallsList'],
});
