/** HTML text. Templates insert it as it is. */
export class Html {
  constructor(readonly text: string) {}

  toString(): string {
    return this.text;
  }
}

/** A value that a template inserts: text is escaped, HTML is not, and `undefined` and `false` are nothing. */
export type Part = Html | string | number | undefined | false | readonly Part[];

/** A template of HTML, whose values are escaped: html`<p>${text}</p>`. Values of attributes need quotes around them. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((text, string, index) => text + textOf(parts[index - 1] as Part) + string));
}

function textOf(part: Part): string {
  if (part instanceof Html) return part.text;
  if (part === undefined || part === false) return '';
  if (typeof part === 'string') return escapeHtml(part);
  return typeof part === 'number' ? String(part) : part.map(textOf).join('');
}

const [AMPERSAND, NUMBER_SIGN, SEMICOLON, ZERO] = [0x26, 0x23, 0x3b, 0x30];
const ESCAPED = /[&<>"']/;
/** The codes of these characters, each of two digits. */
const ESCAPED_CODES = new Set([...'&<>"\''].map((character) => character.charCodeAt(0)));
const REFERENCE_BYTES = '&#00;'.length;

/** Bytes, since a replacement of each character takes a second for a megabyte of them. */
function escapeHtml(text: string): string {
  if (!ESCAPED.test(text)) return text;
  const bytes = Buffer.from(text);
  const escaped = Buffer.allocUnsafe(bytes.length * REFERENCE_BYTES);
  let to = 0;
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes[at]!;
    if (!ESCAPED_CODES.has(code)) escaped[to++] = code;
    else {
      escaped[to] = AMPERSAND;
      escaped[to + 1] = NUMBER_SIGN;
      escaped[to + 2] = ZERO + Math.floor(code / 10);
      escaped[to + 3] = ZERO + (code % 10);
      escaped[to + 4] = SEMICOLON;
      to += REFERENCE_BYTES;
    }
  }
  return escaped.toString('utf8', 0, to);
}
