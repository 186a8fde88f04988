/** The parameters of one element of a Forwarded field, by their names in lower case. */
export type ForwardedElement = ReadonlyMap<string, string>;

/**
 * A parameter, or none, and the separator behind it (RFC 7239 section 4, RFC 9110 section 5.6.4). Values without quotes may
 * contain the colons and brackets of an address.
 */
const PARAMETER = /[ \t]*(?:([^",;=\\ \t]+)=(?:"((?:[^"\\]|\\.)*)"|([^",;=\\ \t]*))[ \t]*)?(?:([;,])|$)/y;

/** Parses a Forwarded field in one pass and returns its last `max` elements in their order, or undefined for a malformed field. */
export function parseForwarded(field: string, max: number): ForwardedElement[] | undefined {
  const elements: ForwardedElement[] = [];
  let element = new Map<string, string>();
  PARAMETER.lastIndex = 0;
  for (let separator: string | undefined = ','; separator !== undefined; ) {
    const found: RegExpExecArray | null = PARAMETER.exec(field);
    if (!found) return undefined;
    const name = found[1]?.toLowerCase();
    // A parameter occurs once in an element.
    if (name !== undefined && element.has(name)) return undefined;
    if (name !== undefined) element.set(name, found[2]?.replace(/\\(.)/g, '$1') ?? found[3]!);
    separator = found[4];
    if (separator === ';') continue;
    // RFC 9110 section 5.6.1.2 allows empty elements in a list.
    if (element.size > 0 && elements.push(element) > max) elements.shift();
    element = new Map();
  }
  return elements;
}
