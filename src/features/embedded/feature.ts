import type { Feature } from '../../feature.js';
import { COMMANDS } from './commands.js';
import { EMBEDDED_SETTINGS } from './settings.js';

/** A PostgreSQL of the service's own. */
export default {
  openServer: async (config, log, join) => {
    const { dataDir } = EMBEDDED_SETTINGS.of(config);
    const { joinEmbedded, startEmbedded } = await import('./embedded.js');
    const open = join ? joinEmbedded : startEmbedded;
    const { url, stop } = await open({ dataDir, onCrash: (message) => log.error(message) });
    return { url, close: stop };
  },
  startLines: async (config) => [
    { name: 'database', text: `embedded PostgreSQL in ${EMBEDDED_SETTINGS.of(config).dataDir}`, position: 2 },
  ],
  commands: {
    backup: {
      ...COMMANDS.backup,
      group: 'copies',
      run: async (args, io) => (await import('./backup-commands.js')).backupCommand(args, io),
    },
    restore: {
      ...COMMANDS.restore,
      group: 'copies',
      run: async (args, io) => (await import('./backup-commands.js')).restoreCommand(args, io),
    },
  },
} satisfies Feature;
