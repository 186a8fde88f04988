import type { Ground } from './ground.js';
import { filler, nextTag, withToken } from './request.js';
import { type Entrant, type Row, statusOf } from './row.js';

const PROBES = 3;

/**
 * Sends a row's request a few times and looks at the responses, which a load generator does not: each has the
 * right status, and pages show the same records from every contestant. Throws when they do not.
 */
export async function probe(row: Row, ground: Ground): Promise<void> {
  let first: { label: string; seen: string } | undefined;
  for (const entrant of row.entrants) {
    const seen = await seenOf(row, entrant, ground);
    if (seen === undefined) continue;
    first ??= { label: entrant.label, seen };
    if (first.seen !== seen) throw new Error(`${entrant.label} shows other records than ${first.label}`);
  }
}

/** The records of a page, or undefined for what is no page. */
async function seenOf(row: Row, entrant: Entrant, ground: Ground): Promise<string | undefined> {
  const { method, path, headers, body } = withToken(entrant.request, ground.token);
  const tag = nextTag();
  const [pathOf, bodyOf] = [filler(path, ground.ids, tag), filler(body ?? '', ground.ids, tag)];
  const { url } = ground.contestants.get(entrant.name)!;
  let seen: string | undefined;
  for (let count = 0; count < PROBES; count++) {
    const response = await fetch(url + pathOf(), {
      method,
      headers,
      ...(body === undefined ? {} : { body: bodyOf() }),
    });
    const text = await response.text();
    if (response.status !== statusOf(row, entrant))
      throw new Error(
        `${entrant.label} responds with ${response.status} to ${method} ${path}: ${text.slice(0, 200)}`,
      );
    seen = text.startsWith('{"data"') ? recordsOf(text) : undefined;
  }
  return seen;
}

interface Page {
  readonly data: readonly { readonly id: string; readonly name: string }[];
  readonly meta: { readonly total?: number };
}

/** The total is not among what is compared when a page comes without it. */
function recordsOf(text: string): string {
  const { data } = JSON.parse(text) as Page;
  return JSON.stringify(data.map(({ id, name }) => [id, name]));
}
