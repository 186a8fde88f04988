import type { Kind } from '../api/kind.js';
import { type Form, JSON_OPTION } from './command.js';

/** The forms of the command that manages resources. */
export function formsOf({ order, command }: Kind): Readonly<Record<string, Form>> {
  const { create, update, remove } = command!;
  const newest = order === 'newest first' ? ', the newest first' : '';
  return {
    create: { text: create.text, options: { ...create.options, ...JSON_OPTION } },
    ...(update && {
      update: { text: update.text, operands: 'ID', options: { ...update.options, ...JSON_OPTION } },
    }),
    list: { text: `prints one JSON object a line${newest}`, options: JSON_OPTION },
    [remove.verb]: { text: remove.text, operands: 'ID', options: JSON_OPTION },
  };
}
