// tap registers loaders that record which files a test imports, and that replace modules. No test needs them, and they cost
// each test file half a second of CPU time.
const nodeModule = require('node:module');
nodeModule.register = () => undefined;
nodeModule.registerHooks = () => undefined;

// tap looks for the test of an uncaught error with async hooks, which cost a tenth of the CPU time of all tests. The runner
// gives such an error to the file that runs (runner/worker.ts).
const asyncHooks = require('node:async_hooks');
const { createHook } = asyncHooks;
const UNUSED = { enable: () => UNUSED, disable: () => UNUSED };
asyncHooks.createHook = (callbacks) =>
  new Error().stack.includes('async-hook-domain') ? UNUSED : createHook(callbacks);
nodeModule.syncBuiltinESMExports();
