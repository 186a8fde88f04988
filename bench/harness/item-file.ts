import { once } from 'node:events';
import { createWriteStream } from 'node:fs';

const WORDS = 'lamp table chair desk shelf clock mirror carpet curtain vase plant frame basket candle'.split(
  ' ',
);

/** Writes a file of NDJSON with items, which are the same each time. */
export async function writeItems(file: string, count: number): Promise<void> {
  const out = createWriteStream(file);
  for (let n = 0; n < count; n++) {
    const [word, other] = [WORDS[n % WORDS.length]!, WORDS[(n * 5 + 3) % WORDS.length]!];
    const price = ((n * 7919) % 100_000) / 100;
    const description = `A ${word} of the ${other} series, number ${n}`;
    const item = { name: `${word} ${other} ${n}`, price, description, tags: [word, other], stock: n % 500 };
    if (!out.write(`${JSON.stringify(item)}\n`)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'close');
}
