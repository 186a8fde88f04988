import { fileURLToPath } from 'node:url';
import type { Load, Outcome } from './loader.js';
import { outputOf } from './output.js';

const CANNON = fileURLToPath(new URL('./cannon.js', import.meta.url));

/** Loads a server by autocannon, which runs in a process of its own: its CPU time is not the bench's. */
export async function loadByAutocannon(load: Load): Promise<Outcome> {
  return JSON.parse(await outputOf(process.execPath, [CANNON, JSON.stringify(load)])) as Outcome;
}
