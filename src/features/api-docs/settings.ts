import { FeatureSettings } from '../../config/config.js';

export const API_DOCS_SETTINGS = new FeatureSettings({
  read: ({ flag }) => ({
    /** Whether the service has documents about its API. */
    apiDocs: flag('API_DOCS', true),
  }),
  isOn: ({ apiDocs }) => apiDocs,
  paths: ['docs'],
  typeNames: ['OpenApi', 'OpenApiYaml'],
});
