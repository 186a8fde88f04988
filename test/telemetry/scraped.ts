import { send } from '../support/service.js';

/** One value of a scrape. */
export interface Scraped {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (-?[\d.e+-]+|NaN|[+-]?Inf)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/gy;

/** Reads the text format as strictly as a scraper: throws at a line that is none. */
export function parseScrape(text: string): Scraped[] {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  return text
    .split('\n')
    .filter((line) => line !== '' && !/^# (?:HELP|TYPE) [a-zA-Z_:][\w:]* /.test(line))
    .map((line) => {
      const [, name = '', labels = '', value] = SAMPLE.exec(line) ?? [];
      if (name === '') throw new Error(`not a sample: ${line}`);
      const found = [...labels.matchAll(LABEL)];
      if (found.map(([whole]) => whole).join('') !== labels) throw new Error(`not labels: ${line}`);
      return {
        name,
        labels: Object.fromEntries(found.map(([, key, text]) => [key, text])),
        value: Number(value),
      };
    });
}

/** The values of a scrape by name and labels; undefined where there is none. */
export async function scrape(url: string) {
  const { text, status } = await send(url, 'GET', '/metrics');
  if (status !== 200) throw new Error(`/metrics responds with ${status}: ${text}`);
  const samples = parseScrape(text);
  return {
    text,
    samples,
    value: (name: string, labels: Record<string, string> = {}) =>
      samples.find(
        (sample) =>
          sample.name === name &&
          Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
      )?.value,
  };
}
