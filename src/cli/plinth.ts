#!/usr/bin/env node
import { FEATURES } from '../features.js';
import { exitWith, processIo } from './process-io.js';
import { run } from './run.js';

void run(process.argv.slice(2), processIo(FEATURES)).then(exitWith);
