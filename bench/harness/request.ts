/**
 * A request with places to fill in, each time anew: `{id}` the id of a record that exists, `{unique}` a word
 * never used before, `{number}` an integer from 0 to 149; and once for a run, in a header field, `{token}`.
 */
export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The request as it is sent: `{token}` in a header field is the access token of the run. */
export function withToken(request: Request, token: string): Request {
  const fields = Object.entries(request.headers).map(([name, value]) => [
    name,
    value.replace('{token}', token),
  ]);
  return { ...request, headers: Object.fromEntries(fields) };
}

export type Placeholder = 'id' | 'unique' | 'number';

/** Splits a text at its placeholders: texts and placeholders alternate, beginning with a text. */
export function split(template: string): { texts: string[]; placeholders: Placeholder[] } {
  const parts = template.split(/\{(id|unique|number)\}/);
  return {
    texts: parts.filter((_, index) => index % 2 === 0),
    placeholders: parts.filter((_, index) => index % 2 === 1) as Placeholder[],
  };
}

/** A function that fills the places of a template; `tag` makes its unique words differ from any other's. */
export function filler(template: string, ids: readonly string[], tag: string): () => string {
  const { texts, placeholders } = split(template);
  let count = 0;
  const values: Record<Placeholder, () => string> = {
    id: () => ids[Math.floor(Math.random() * ids.length)]!,
    unique: () => `${tag}${++count}`,
    number: () => String(Math.floor(Math.random() * 150)),
  };
  return () => texts.reduce((made, text, index) => made + values[placeholders[index - 1]!]() + text);
}

let tags = 0;

/** A word for `filler` that no other load of this or another run uses. */
export const nextTag = () => `${Date.now().toString(36)}t${(++tags).toString(36)}n`;
