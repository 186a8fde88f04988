import { startApp } from '../../src/app.js';
import { readConfig } from '../../src/config/config.js';
import { FEATURES } from '../../src/features.js';
import { settingsOf } from '../../src/open-features.js';
import { createLog } from '../../src/telemetry/log.js';

/** A process with a service that has none of the features that its arguments name. It ends in order with SIGTERM. */
const absent = process.argv.slice(2);
const features = FEATURES.filter(({ name }) => !absent.includes(name));
const config = readConfig(process.env, {}, '', settingsOf(features));
const app = await startApp(config, createLog('warn', process.stderr), features);
process.once('SIGTERM', () => void app.stop().then(() => process.exit(0)));
process.stdout.write(`${app.url}\n`);
