import Papa from 'papaparse';
import { chunksOf } from '../../../src/features/transfer/chunks.js';
import { cellsOf } from '../../../src/features/transfer/csv-row.js';
import { csvScanner } from '../../../src/features/transfer/scan.js';
import t from '../../support/test.js';

const COMMA = 0x2c;

/** The rows of a text that arrives in parts, each with its line. */
async function rowsOf(text: string, delimiter: number, partBytes: number) {
  const bytes = Buffer.from(text);
  async function* parts() {
    for (let at = 0; at < bytes.length; at += partBytes) yield bytes.subarray(at, at + partBytes);
  }
  const rows: { cells: string[]; line: number; fault: string | undefined }[] = [];
  for await (const chunk of chunksOf(parts(), csvScanner(delimiter), { position: 0, place: 1 }, { size: 1 }))
    for (const { row, place: line } of chunk.records)
      rows.push({ cells: cellsOf(chunk.bytes, row!), line, fault: row!.fault?.reason });
  return rows;
}

t.test('a thousand generated files are read as PapaParse reads them', async (t) => {
  let state = 42;
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const pick = <T>(list: readonly T[]): T => list[next(list.length)]!;
  let differences = 0;
  for (let file = 0; file < 1000; file++) {
    const delimiter = pick([',', ';', '\t', '|']);
    const newline = pick(['\n', '\r\n', '\r'] as const);
    const inner = pick([newline, `"${newline}`, '']);
    const columns = 1 + next(4);
    const cell = () =>
      Array.from({ length: next(5) }, () =>
        pick(['a', 'é', '日', ' ', '"', delimiter, ',', inner, '5', "'"]),
      ).join('');
    const rows = Array.from({ length: 1 + next(5) }, () => Array.from({ length: columns }, cell));
    const encoded = rows.map((row) =>
      row
        .map((each) => {
          // A quotation mark that does not begin a cell is literal.
          const isPlain = !each.startsWith('"') && !each.includes(delimiter) && !/[\r\n]/.test(each);
          return isPlain && next(3) > 0 ? each : `"${each.replaceAll('"', '""')}"`;
        })
        .join(delimiter),
    );
    const text = encoded.join(newline) + pick(['', newline]);
    const own = await rowsOf(text, delimiter.charCodeAt(0), 1 + next(7));
    const { data } = Papa.parse<string[]>(text, { delimiter, newline, skipEmptyLines: true });
    const isBlank = (row: readonly string[]) => row.length === 1 && row[0]!.trim() === '';
    const expected = data.filter((row) => !isBlank(row));
    const found = own.map(({ cells }) => cells).filter((row) => !isBlank(row));
    if (JSON.stringify(found) === JSON.stringify(expected)) continue;
    differences++;
    t.same(found, expected, JSON.stringify(text));
    if (differences === 5) break;
  }
  t.equal(differences, 0);
});

t.test('malformed quotation is found, and a quotation mark within a cell is literal', async (t) => {
  const rows = (text: string) => rowsOf(text, COMMA, 3);
  t.match(await rows('Monitor 24",199\nCable,5\n'), [
    { cells: ['Monitor 24"', '199'], line: 1, fault: undefined },
    { cells: ['Cable', '5'], line: 2, fault: undefined },
  ]);
  t.match(await rows('a,"b"c\n"d","e"\n'), [
    { line: 1, fault: /text after the quotation mark/ },
    { cells: ['d', 'e'], line: 2, fault: undefined },
  ]);
  t.match(await rows('a,b\r"c,d\re,f\r'), [{ line: 1 }, { line: 2, fault: /not closed/ }]);
  t.match(await rows('a\r\n"b\r\n\r\nc"\r\nd\re\nf'), [
    { cells: ['a'], line: 1 },
    { cells: ['b\r\n\r\nc'], line: 2 },
    { cells: ['d'], line: 5 },
    { cells: ['e'], line: 6 },
    { cells: ['f'], line: 7 },
  ]);
});
