const BEGIN = '-----BEGIN CERTIFICATE-----';
const END = '-----END CERTIFICATE-----';

/** The certificates in a text in PEM (RFC 7468 section 2), each with its boundaries; other text is left out. */
export function certificateBlocks(text: string): string[] {
  const blocks: string[] = [];
  for (let start = text.indexOf(BEGIN); start >= 0; start = text.indexOf(BEGIN, start + BEGIN.length)) {
    const dash = text.indexOf('-', start + BEGIN.length);
    if (dash > start + BEGIN.length && text.startsWith(END, dash))
      blocks.push(text.slice(start, dash + END.length));
  }
  return blocks;
}
