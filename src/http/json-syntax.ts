/** What may follow in a JSON text. */
type Expected = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma or end' | 'nothing';

const TOKEN =
  /[ \t\n\r]*(?:"[ !#-[\]-\u{10ffff}]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\u{10ffff}]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:])/uy;

/** Where a text stops being JSON (RFC 8259), as an index. Used only for texts that are not valid: it is slower than a parser. */
export function syntaxErrorAt(text: string): number {
  const open: string[] = [];
  let expected: Expected = 'value';
  let at = 0;
  for (;;) {
    TOKEN.lastIndex = at;
    // Without the text of the token, which would have to be copied.
    if (!TOKEN.test(text)) break;
    let start = at;
    while (' \t\n\r'.includes(text[start]!)) start++;
    const next = follow(expected, text[start]!, open);
    if (next === undefined) return start;
    expected = next;
    at = TOKEN.lastIndex;
  }
  return at + /^[ \t\n\r]*/.exec(text.slice(at))![0].length;
}

/** What may follow a token; undefined: the token itself may not be here. `open` has the brackets that are not closed. */
function follow(expected: Expected, first: string, open: string[]): Expected | undefined {
  const after = (): Expected => (open.length === 0 ? 'nothing' : 'comma or end');
  if (first === '}' || first === ']') {
    const mayEnd =
      expected === 'comma or end' || expected === (first === '}' ? 'name or end' : 'value or end');
    return mayEnd && open.pop() === (first === '}' ? '{' : '[') ? after() : undefined;
  }
  switch (expected) {
    case 'colon':
      return first === ':' ? 'value' : undefined;
    case 'comma or end':
      if (first !== ',') return undefined;
      return open.at(-1) === '{' ? 'name' : 'value';
    case 'name':
    case 'name or end':
      return first === '"' ? 'colon' : undefined;
    case 'nothing':
      return undefined;
    default:
      if (first === ',' || first === ':') return undefined;
      if (first !== '{' && first !== '[') return after();
      open.push(first);
      return first === '{' ? 'name or end' : 'value or end';
  }
}

/** A place in a text for a person: the line and the column, from 1, in UTF-16 units. */
export function placeOf(text: string, at: number): string {
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  return `line ${line}, column ${at - before.lastIndexOf('\n')}`;
}
