import { once } from 'node:events';
import { type Debugger, Session } from 'node:inspector';
import { settingsOf } from '../../src/app/open-features.js';
import { startApp } from '../../src/app.js';
import { readConfig } from '../../src/config/config.js';
import { FEATURES } from '../../src/features.js';
import { createLog } from '../../src/telemetry/log.js';

/**
 * A process with a service that has none of the features that its arguments name. With SIGTERM it prints the addresses of all
 * scripts that it has loaded, and ends in order.
 */
const absent = process.argv.slice(2);
const features = FEATURES.filter(({ name }) => !absent.includes(name));
const config = readConfig(process.env, {}, '', settingsOf(features));
const app = await startApp(config, createLog('warn', process.stderr), features);
process.stdout.write(`${app.url}\n`);
await once(process, 'SIGTERM');
const session = new Session();
const loaded: string[] = [];
session.connect();
session.on('Debugger.scriptParsed', ({ params }: { params: Debugger.ScriptParsedEventDataType }) =>
  loaded.push(params.url),
);
session.post('Debugger.enable');
session.disconnect();
await app.stop();
// The end of the process would discard what a slow reader has not read.
process.stdout.write(`${loaded.join('\n')}\n`, () => process.exit(0));
