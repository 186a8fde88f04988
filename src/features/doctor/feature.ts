import type { Feature } from '../../feature.js';
import { COMMANDS } from './commands.js';

/** Checks of a service and what it needs. */
export default {
  commands: {
    doctor: {
      ...COMMANDS.doctor,
      group: 'tools',
      run: async (args, io) => (await import('./doctor.js')).doctorCommand(args, io),
    },
  },
} satisfies Feature;
