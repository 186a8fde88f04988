import { isObject, type Json } from '../json.js';
import { LEVELS, type Lines } from './log.js';

const LEVEL_NAMES = new Map(
  Object.entries(LEVELS).map(([name, level]): [number, string] => [level, name.toUpperCase()]),
);

/** Turns lines of JSON into lines for people at a terminal: the time, the level, the message and its details. */
export function readableLines(lines: Lines): Lines {
  return { write: (line) => lines.write(readable(line)) };
}

function readable(line: string): string {
  const entry = JSON.parse(line) as Record<string, Json>;
  const { level, time, msg, err, ...details } = entry;
  const at = new Date(Number(time)).toTimeString().slice(0, 8);
  const texts = Object.entries(details).map(([name, value]) => ` ${name}=${textOf(value)}`);
  const stack = isObject(err) ? `\n  ${String(err.stack ?? err.message).replaceAll('\n', '\n  ')}` : '';
  return `${at} ${LEVEL_NAMES.get(Number(level)) ?? String(level)} ${String(msg ?? '')}${texts.join('')}${stack}\n`;
}

const textOf = (value: Json) =>
  typeof value === 'string' && /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value);
