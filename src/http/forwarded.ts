/** The parameters of one element of a Forwarded field, by their names in lower case. */
export type ForwardedElement = ReadonlyMap<string, string>;

/**
 * Parses a Forwarded field (RFC 7239 section 4) in one pass and returns its last `max` elements in their order, or
 * undefined for a malformed field. Values without quotes may contain the colons and brackets of an address.
 */
export function parseForwarded(field: string, max: number): ForwardedElement[] | undefined {
  const scanner = new Scanner(field);
  const elements: ForwardedElement[] = [];
  do {
    const element = readElement(scanner);
    if (element === undefined) return undefined;
    // RFC 9110 section 5.6.1.2 allows empty elements in a list.
    if (element.size > 0 && elements.push(element) > max) elements.shift();
  } while (scanner.accept(','));
  return scanner.isAtEnd ? elements : undefined;
}

/** Undefined for a malformed pair, or for a parameter that occurs twice (RFC 7239 section 4). */
function readElement(scanner: Scanner): ForwardedElement | undefined {
  const parameters = new Map<string, string>();
  do {
    scanner.skipSpace();
    const name = scanner.word().toLowerCase();
    if (name !== '') {
      if (parameters.has(name) || !scanner.accept('=')) return undefined;
      const value = scanner.accept('"') ? scanner.quoted() : scanner.word();
      if (value === undefined) return undefined;
      parameters.set(name, value);
    }
    scanner.skipSpace();
  } while (scanner.accept(';'));
  return parameters;
}

/** Reads a text from left to right and never goes back. */
class Scanner {
  #at = 0;

  constructor(readonly text: string) {}

  get isAtEnd(): boolean {
    return this.#at === this.text.length;
  }

  accept(character: string): boolean {
    if (this.text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  skipSpace(): void {
    while (this.accept(' ') || this.accept('\t'));
  }

  /** The characters up to the next delimiter; may be empty. */
  word(): string {
    const start = this.#at;
    while (!this.isAtEnd && !DELIMITERS.has(this.text[this.#at]!)) this.#at++;
    return this.text.slice(start, this.#at);
  }

  /** The rest of a quoted-string (RFC 9110 section 5.6.4) without its escapes; undefined when it does not end. */
  quoted(): string | undefined {
    let value = '';
    let start = this.#at;
    for (; !this.isAtEnd; this.#at++) {
      const character = this.text[this.#at];
      if (character !== '"' && character !== '\\') continue;
      value += this.text.slice(start, this.#at);
      if (character === '"') {
        this.#at++;
        return value;
      }
      // The escaped character itself belongs to the value.
      start = ++this.#at;
    }
    return undefined;
  }
}

const DELIMITERS = new Set('",;=\\ \t');
