#!/usr/bin/env node
import { exitWith, processIo } from './process-io.js';
import { run } from './run.js';

void run(process.argv.slice(2), processIo()).then(exitWith);
