import { createServer } from 'node:http';
import { createReplayGuard } from '../../src/auth/replay-guard.js';
import { readConfig } from '../../src/config/config.js';
import { openDatabase } from '../../src/db/open-database.js';
import { createProvider } from '../../src/features/issuer/provider.js';
import { ISSUER_SETTINGS } from '../../src/features/issuer/settings.js';
import { openKeys } from '../../src/features/issuer/signing-keys.js';
import { createLog } from '../../src/telemetry/log.js';
import { listen } from './listen.js';

/** oidc-provider alone, on the Koa that it brings, with the configuration and the storage of Plinth. */
const config = readConfig(process.env, {}, '', [ISSUER_SETTINGS]);
const { db } = await openDatabase(config, createLog('warn'));
const keys = await openKeys(db, undefined);
const provider = createProvider({
  config,
  db,
  checkReplay: createReplayGuard(db),
  keys,
  admit: async () => undefined,
});
listen(createServer(provider.callback()));
