// tap registers loaders that record which files a test imports, and that replace modules. No test needs them, and they cost
// each test file half a second of CPU time.
const nodeModule = require('node:module');
nodeModule.register = () => undefined;
nodeModule.registerHooks = () => undefined;
