/** The tokens that may follow in a JSON text. */
type Expected = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma or end' | 'nothing';

const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
const [COMMA, COLON, QUOTE, BACKSLASH, SPACE] = [0x2c, 0x3a, 0x22, 0x5c, 0x20];
const [ZERO, NINE, MINUS, PLUS, DOT] = [0x30, 0x39, 0x2d, 0x2b, 0x2e];
const [TAB, LINE_FEED, CARRIAGE_RETURN, LOWER_E, UPPER_E, LOWER_U] = [0x09, 0x0a, 0x0d, 0x65, 0x45, 0x75];
const LITERALS = ['true', 'false', 'null'];
const ESCAPED = new Set([...'"\\/bfnrt'].map((each) => each.charCodeAt(0)));

/**
 * Where a text stops being JSON (RFC 8259), as an index. Used only for texts that are not valid, as a parser is faster.
 * It compares the codes of characters, since one expression for all tokens took ten times as long.
 */
export function syntaxErrorAt(text: string): number {
  /** The brackets that are not closed. */
  const open: number[] = [];
  let expected: Expected = 'value';
  let at = 0;
  for (;;) {
    const start = endOfBlanks(text, at);
    const end = endOfToken(text, start);
    const next: Expected | undefined = end < 0 ? undefined : follow(expected, text.charCodeAt(start), open);
    if (next === undefined) return start;
    expected = next;
    at = end;
  }
}

function endOfBlanks(text: string, start: number): number {
  for (let at = start; ; at++) {
    const code = text.charCodeAt(at);
    if (code !== SPACE && code !== TAB && code !== LINE_FEED && code !== CARRIAGE_RETURN) return at;
  }
}

/** The index behind the token that starts at an index; -1 if none does. */
function endOfToken(text: string, start: number): number {
  switch (text.charCodeAt(start)) {
    case OPEN_OBJECT:
    case CLOSE_OBJECT:
    case OPEN_ARRAY:
    case CLOSE_ARRAY:
    case COMMA:
    case COLON:
      return start + 1;
    case QUOTE:
      return endOfString(text, start + 1);
  }
  const number = endOfNumber(text, start);
  if (number >= 0) return number;
  const literal = LITERALS.find((each) => text.startsWith(each, start));
  return literal === undefined ? -1 : start + literal.length;
}

function endOfString(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code < SPACE) return -1;
    if (code !== BACKSLASH) continue;
    const escaped = text.charCodeAt(++at);
    if (escaped === LOWER_U && /^[\da-f]{4}$/i.test(text.slice(at + 1, at + 5))) at += 4;
    else if (!ESCAPED.has(escaped)) return -1;
  }
  return -1;
}

function endOfNumber(text: string, start: number): number {
  const whole = text.charCodeAt(start) === MINUS ? start + 1 : start;
  const end = text.charCodeAt(whole) === ZERO ? whole + 1 : endOfDigits(text, whole);
  if (end === whole) return -1;
  const fraction = text.charCodeAt(end) === DOT ? endOfDigits(text, end + 1) : end;
  if (fraction === end + 1) return end;
  const marker = text.charCodeAt(fraction);
  if (marker !== LOWER_E && marker !== UPPER_E) return fraction;
  const sign = text.charCodeAt(fraction + 1);
  const digits = sign === PLUS || sign === MINUS ? fraction + 2 : fraction + 1;
  const exponent = endOfDigits(text, digits);
  return exponent === digits ? fraction : exponent;
}

function endOfDigits(text: string, start: number): number {
  for (let at = start; ; at++) {
    const code = text.charCodeAt(at);
    if (!(code >= ZERO && code <= NINE)) return at;
  }
}

/** The tokens that may follow a token; undefined: the token itself may not be here. */
function follow(expected: Expected, first: number, open: number[]): Expected | undefined {
  if (first === CLOSE_OBJECT || first === CLOSE_ARRAY) {
    const [opening, end] =
      first === CLOSE_OBJECT ? [OPEN_OBJECT, 'name or end'] : [OPEN_ARRAY, 'value or end'];
    const mayEnd = expected === 'comma or end' || expected === end;
    return mayEnd && open.pop() === opening ? afterValue(open) : undefined;
  }
  switch (expected) {
    case 'colon':
      return first === COLON ? 'value' : undefined;
    case 'comma or end':
      if (first !== COMMA) return undefined;
      return open.at(-1) === OPEN_OBJECT ? 'name' : 'value';
    case 'name':
    case 'name or end':
      return first === QUOTE ? 'colon' : undefined;
    case 'nothing':
      return undefined;
    default:
      if (first === COMMA || first === COLON) return undefined;
      if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return afterValue(open);
      open.push(first);
      return first === OPEN_OBJECT ? 'name or end' : 'value or end';
  }
}

const afterValue = (open: readonly number[]): Expected => (open.length === 0 ? 'nothing' : 'comma or end');

/** A place in a text for a person: the line and the column, from 1, in UTF-16 units. */
export function placeOf(text: string, at: number): string {
  let [line, start] = [1, 0];
  for (let end = text.indexOf('\n'); end >= 0 && end < at; end = text.indexOf('\n', start)) {
    line++;
    start = end + 1;
  }
  return `line ${line}, column ${at - start + 1}`;
}
