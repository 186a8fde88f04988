import { replacing, startProcess, WITH_CONSTANTS } from './process.js';
import { type SendOptions, type ServiceResponse, send, testDatabase } from './service.js';
import type { Constants } from './settings.js';
import type { Test } from './test.js';

/** MiB of JavaScript objects. */
const HEAP = 256;

export interface SmallService {
  readonly databaseUrl: string;
  readonly url: string;
  readonly pid: number;
  readonly request: (method: string, path: string, options?: SendOptions) => Promise<ServiceResponse>;
}

/** A service in a process of its own with little memory: a request rejects once the process has ended. */
export async function smallService(
  t: Test,
  env: Record<string, string>,
  constants: Constants = {},
): Promise<SmallService> {
  const databaseUrl = await testDatabase(t);
  const settings = {
    DATABASE_URL: databaseUrl,
    MIGRATE: 'auto',
    NODE_OPTIONS: `--max-old-space-size=${HEAP}`,
    // All requests of a test come from one address.
    ...replacing({ bodyBytesPerAddress: 0, ...constants }),
    ...env,
  };
  const service = startProcess(t, settings, WITH_CONSTANTS);
  t.teardown(() => {
    if (!t.passing()) t.comment(`exit ${service.child.exitCode}: ${service.stderr().slice(-2000)}`);
  });
  const url = await service.ready();
  return {
    databaseUrl,
    url,
    pid: service.child.pid!,
    request: (method, path, options) => send(url, method, path, options),
  };
}
