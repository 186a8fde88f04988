import type { JsonObject } from '../../src/json.js';

/** The words of a text, which spaces and line breaks separate: a long list without a line for each. */
export const words = (text: string): string[] => text.trim().split(/[ \n]+/);

/** The records of a text in NDJSON. */
export const recordsIn = (text: string): JsonObject[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as JsonObject);
