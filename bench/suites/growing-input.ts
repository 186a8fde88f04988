/** A request as it is sent. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string;
}

/** The worst input of an entry point, by its size. */
export interface Input {
  readonly name: string;
  readonly bytes: number;
  /** The request that creates the record at `location`. */
  readonly record?: (bytes: number) => Sent;
  readonly sent: (bytes: number, location: string) => Sent;
}

/** Units of bytes. */
export const [KIB, MIB] = [1024, 1_048_576];
/** Limits of an address, of header fields, of a body, and of a body with many records that a benchmark can send often. */
export const [ADDRESS, HEADERS, BODY, QUERY, MANY] = [7 * KIB, 14 * KIB, MIB - 1024, 62 * KIB, 8 * MIB];

/** Media types. */
export const [JSON_TYPE, NDJSON, CSV, FORM] = [
  'application/json',
  'application/x-ndjson',
  'text/csv',
  'application/x-www-form-urlencoded',
];
/** Media types of patches. */
export const [JSON_PATCH, MERGE_PATCH] = ['application/json-patch+json', 'application/merge-patch+json'];

/** A POST of a body. */
export const post = (path: string, type: string, body: string, more: Sent['headers'] = {}): Sent => ({
  method: 'POST',
  path,
  headers: { 'content-type': type, ...more },
  body,
});

/** As many repetitions as fit into so many bytes, with what is between them. */
export function filled(bytes: number, one: string | ((n: number) => string), between = ','): string {
  const parts: string[] = [];
  for (let [left, n] = [bytes, 0]; left > 0; n++) {
    const part = typeof one === 'string' ? one : one(n);
    parts.push(part);
    left -= Buffer.byteLength(part) + between.length;
  }
  return parts.join(between);
}

/** A JSON array of about so many bytes. */
export const arrayOf = (bytes: number, one: string | ((n: number) => string)) => `[${filled(bytes, one)}]`;
/** A JSON object of about so many bytes. */
export const objectOf = (bytes: number, one: (n: number) => string) => `{${filled(bytes, one)}}`;
/** An object with as many members as a record may have, at most. */
export const members = (bytes: number) => objectOf(Math.min(bytes, 80_000), (n) => `"k${n}":1`);

/** An array of numbers. */
export const zeros = (n: number) => arrayOf(n - 200, '0');
