// Lets the system start no process while the file PLINTH_TEST_SPAWN_ERROR holds one of libuv's codes.
const { readFileSync } = require('node:fs');

const { prototype } = process.binding('process_wrap').Process;
const { spawn } = prototype;
prototype.spawn = function (...args) {
  const code = Number(readFileSync(process.env.PLINTH_TEST_SPAWN_ERROR, 'utf8'));
  return code === 0 ? spawn.apply(this, args) : code;
};
