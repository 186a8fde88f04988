import type { Reply } from './reply.js';

/** The text of the `documents` of a reply: as an array in its frame, or as lines. The first piece has the first document. */
export async function* piecesOf({ documents, frame, lines }: Reply): AsyncGenerator<string> {
  const [before, after] = lines ? [lines.header, ''] : [`${frame?.[0] ?? ''}[`, `]${frame?.[1] ?? ''}`];
  const lineOf = lines?.lineOf ?? ((document: string) => `${document}\n`);
  let start = before;
  for await (const document of documents!()) {
    yield start + (lines ? await lineOf(document) : document);
    start = lines ? '' : ',';
  }
  yield start === before ? before + after : after;
}
