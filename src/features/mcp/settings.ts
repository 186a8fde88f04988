import { FeatureSettings } from '../../config/config.js';

export const MCP_SETTINGS = new FeatureSettings({
  read: ({ flag }) => ({
    /** Whether /mcp serves agents. */
    mcp: flag('MCP'),
  }),
  isOn: ({ mcp }) => mcp,
  paths: ['mcp'],
});
