/** Comments, texts and names in quotation marks, the beginning of a text in dollars, words, and each other character. */
const TOKEN =
  /--[^\n]*|\/\*|e'(?:[^'\\]|\\.|'')*|'[^']*|"[^"]*|\$(?:[a-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$|[a-z_\u0080-\uffff][\w$\u0080-\uffff]*|./gisy;
const WORD = /^[a-z_\u0080-\uffff][^']*$/i;
const QUOTED = /^(?:e?'|")/i;

/**
 * The words of each statement of an SQL text, in lower case, without those in comments, texts and quotation marks. The
 * statements in the body of a routine are part of the one that creates it.
 */
export function statementsIn(text: string): string[][] {
  const statements: string[][] = [];
  let words: string[] = [];
  let body: string[] | undefined;
  const end = () => {
    if (body) {
      if (words[0] === 'end') body = undefined;
    } else if (words.length > 0) {
      statements.push(words);
      if (opensBody(words)) body = words;
    }
    words = [];
  };
  TOKEN.lastIndex = 0;
  for (let token = TOKEN.exec(text); token; token = TOKEN.exec(text)) {
    const [part] = token;
    if (part === ';') end();
    else if (part === '/*') TOKEN.lastIndex = endOfComment(text, TOKEN.lastIndex);
    else if (QUOTED.test(part)) TOKEN.lastIndex++;
    else if (part.startsWith('$') && part.length > 1) TOKEN.lastIndex = endOf(text, part, TOKEN.lastIndex);
    else if (WORD.test(part)) words.push(part.toLowerCase());
  }
  end();
  return statements;
}

/** Whether a statement creates a routine in standard SQL, whose body goes on after the first semicolon. */
function opensBody(words: readonly string[]): boolean {
  const begin = words.findIndex((word, at) => word === 'begin' && words[at + 1] === 'atomic');
  if (words[0] !== 'create' || begin === -1) return false;
  const count = (name: string) => words.slice(begin).filter((word) => word === name).length;
  return count('end') === count('case');
}

/** Comments of PostgreSQL contain others. */
function endOfComment(text: string, from: number): number {
  const mark = /\/\*|\*\//g;
  mark.lastIndex = from;
  for (let depth = 1; depth > 0; ) {
    const found = mark.exec(text);
    if (!found) return text.length;
    depth += found[0] === '/*' ? 1 : -1;
  }
  return mark.lastIndex;
}

function endOf(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from);
  return at === -1 ? text.length : at + mark.length;
}
