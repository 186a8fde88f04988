import type { Explanation } from '../access/explain.js';
import type { Verb } from '../access/rules.js';

/** The verb of each method that reads or writes records. */
export const VERBS: Readonly<Record<string, Verb>> = {
  GET: 'read',
  HEAD: 'read',
  QUERY: 'read',
  POST: 'create',
  PUT: 'update',
  PATCH: 'update',
  DELETE: 'delete',
};

/** An explanation as lines for a terminal. */
export function explanationText({ verb, permitted, fields, grants }: Explanation): string {
  const outcome = permitted === null ? 'the record decides' : permitted ? 'permitted' : 'not permitted';
  const lines = grants.map(({ grant, holds, reason, failed }) => {
    const state = holds === null ? 'depends on the record' : holds ? 'holds' : reason;
    return `  ${grant}: ${state}${failed.map((each) => `\n    ${JSON.stringify(each)}`).join('')}\n`;
  });
  return `${verb}: ${outcome}${fields ? ` (${fields.join(', ')})` : ''}\n${lines.join('')}`;
}
