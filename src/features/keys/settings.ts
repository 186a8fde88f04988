import { FeatureSettings } from '../../config/config.js';

/** A service that accepts keys or client certificates has the feature. */
export const KEY_SETTINGS = new FeatureSettings({
  read: () => ({}),
  isOn: (_, { auth }) => auth.includes('api-key') || auth.includes('mtls'),
  paths: ['keys'],
  typeNames: ['Key', 'KeyInput', 'KeyList', 'Keys', 'NewKey'],
});
