import { freePort as freePortOf } from '../../src/process/listen.js';

/** A port of 127.0.0.1 that is free now; another process may use it next. */
export const freePort = (): Promise<number> => freePortOf({ host: '127.0.0.1', port: 0, setting: 'PORT' });
