// tap registers loaders that record which files a test imports, and that replace modules. No test needs them, and they cost
// each test file half a second of CPU time.
const nodeModule = require('node:module');
nodeModule.register = () => undefined;
nodeModule.registerHooks = () => undefined;

// tap also adds such a loader to the environment of each process that a test starts, which then takes 0.45 s of CPU time to
// start in place of 0.18 s. Its package for that calls these listeners before each start.
const NO_LISTENERS = { push: () => 0, unshift: () => 0, indexOf: () => -1, forEach: () => undefined };
globalThis[Symbol.for('process-on-spawn@*:singletonId')] = { version: 1, listeners: NO_LISTENERS };

// tap looks for the test of an uncaught error with async hooks, which cost a tenth of the CPU time of all tests. The runner
// gives such an error to the file that runs (runner/worker.ts).
const asyncHooks = require('node:async_hooks');
const { createHook } = asyncHooks;
const UNUSED = { enable: () => UNUSED, disable: () => UNUSED };
asyncHooks.createHook = (callbacks) =>
  new Error().stack.includes('async-hook-domain') ? UNUSED : createHook(callbacks);
nodeModule.syncBuiltinESMExports();
