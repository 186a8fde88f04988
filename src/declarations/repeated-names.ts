import { escapeToken } from '../json.js';

/** An object or an array whose end was not reached. */
interface Open {
  readonly pointer: string;
  /** The names of an object; absent: an array. */
  readonly names?: Set<string>;
  /** The name or the index of the present member. */
  member: string;
}

/** JSON Pointers to the members that an object of a valid JSON text has twice. A parser would ignore the first one of each. */
export function repeatedNames(text: string): string[] {
  const open: Open[] = [];
  const found: string[] = [];
  let last = '';
  for (const token of tokensOf(text)) {
    const inner = open.at(-1);
    if (token === '{' || token === '[') {
      const pointer = inner ? `${inner.pointer}/${escapeToken(inner.member)}` : '';
      open.push(token === '{' ? { pointer, names: new Set(), member: '' } : { pointer, member: '0' });
    } else if (token === '}' || token === ']') open.pop();
    else if (token === ':' && inner?.names) {
      inner.member = JSON.parse(last) as string;
      if (inner.names.has(inner.member)) found.push(`${inner.pointer}/${escapeToken(inner.member)}`);
      inner.names.add(inner.member);
    } else if (token === ',' && inner && !inner.names) inner.member = String(Number(inner.member) + 1);
    else if (token.startsWith('"')) last = token;
  }
  return [...new Set(found)];
}

/** The texts, and all other characters one by one. */
function* tokensOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const end = text[at] === '"' ? endOfText(text, at) : at + 1;
    yield text.slice(at, end);
    at = end;
  }
}

function endOfText(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}
