import { type Resource, referredIds } from '../../collection/resource.js';
import { csvHeader, csvRow } from '../../formats/csv.js';
import { CSV_TYPE, JSON_TYPE, NDJSON_TYPE } from '../../http/media-types.js';
import { Query } from '../../http/query-parameters.js';
import type { Lines, Reply } from '../../http/reply.js';
import type { Action } from '../../http/router.js';
import { type Json, type JsonObject, member } from '../../json.js';
import { ofDocument } from '../../limits/turn.js';
import { listColumns, titleLabel } from './columns.js';
import { hostOf } from './inner-read.js';
import type { PageContext } from './layout.js';
import { listQueryOf } from './list-query.js';
import { Names } from './names.js';

/** The parameter of a page for the file with all that its list selects: `csv` or `json`. */
export const EXPORT = '_export';

/** Records, and characters of their documents, whose names are read together. */
const PART = 100;
const PART_CHARACTERS = 1_048_576;
/** Spreadsheets read a file as UTF-8 if it begins with this mark. */
const BYTE_ORDER_MARK = '\ufeff';
/** The parameters of a page that a whole list does not have. */
const OF_PAGES = ['page', 'limit', 'count', 'include', 'excerpts', 'group', 'aggregate'];

/**
 * A file with all records of a list, streamed as the list in lines is: JSON with all fields, or CSV for spreadsheets with the columns
 * of the page. Undefined: the page is no file.
 */
export async function exportReply(
  resource: Resource,
  { site, request }: Pick<PageContext, 'site' | 'request'>,
  list: Action,
): Promise<Reply | undefined> {
  const format = request.query.parameters.get(EXPORT);
  if (format !== 'csv' && format !== 'json') return undefined;
  const query = new URLSearchParams(listQueryOf(request.query));
  const chosen = query.get('fields')?.split(',');
  for (const name of OF_PAGES) query.delete(name);
  const isCsv = format === 'csv';
  const reply = await list.run({
    ...{ ...request, headers: hostOf(request.headers), type: NDJSON_TYPE, query: new Query(String(query)) },
  });
  const { content } = reply;
  if (content?.kind !== 'rows') return reply;
  const lines = isCsv
    ? spreadsheetLines(resource, chosen, () => new Names(site, request, Number.POSITIVE_INFINITY))
    : arrayLines(content.lines!);
  return {
    status: 200,
    headers: [
      ...['Content-Type', isCsv ? `${CSV_TYPE}; charset=utf-8; header=present` : JSON_TYPE],
      ...['Content-Disposition', `attachment; filename="${resource.name}.${format}"`],
      ...['Cache-Control', 'no-store'],
    ],
    content: { ...content, lines },
  };
}

/** The documents of a list as one array, with a line for each. */
function arrayLines({ lineOf = (document) => document }: Lines): Lines {
  let separator = '[';
  return {
    header: '',
    lineOf: async (document) => {
      const line = separator + (await lineOf(document)).trimEnd();
      separator = ',\n';
      return line;
    },
    footer: () => (separator === '[' ? '[]' : ']'),
  };
}

/** A column of a spreadsheet: its label, and its value in a record. */
type SheetColumn = readonly [label: string, value: (record: JsonObject, names: Names) => Json | undefined];

/** The columns of a list with their labels, of references the id beside the name. */
function sheetColumns(resource: Resource, chosen: readonly string[] | undefined): readonly SheetColumn[] {
  const columns = listColumns(resource, chosen, []).filter(({ kind }) => kind !== 'id');
  return [
    [titleLabel(resource), (record, names) => names.titleOf(resource, record)],
    ...columns.flatMap(({ name, label }): SheetColumn[] => {
      const own: SheetColumn = [label, (record) => member(record, name)];
      const reference = resource.references.find(({ field }) => field === name);
      if (!reference) return [own];
      const nameIn: SheetColumn[1] = (record, names) =>
        referredIds(record, reference)
          .map(({ id }) => names.of(id) ?? '')
          .join(', ');
      return [
        [label, nameIn],
        [`${label} id`, own[1]],
      ];
    }),
    ['Id', ({ id }) => id],
  ];
}

/** The rows of a spreadsheet. Records wait for each other, so that the names of many are read by one request. */
function spreadsheetLines(
  resource: Resource,
  chosen: readonly string[] | undefined,
  openNames: () => Names,
): Lines {
  const columns = sheetColumns(resource, chosen);
  const places = columns.map((_, at) => String(at));
  let waiting: JsonObject[] = [];
  let characters = 0;
  const flush = async (): Promise<string> => {
    const records = waiting;
    [waiting, characters] = [[], 0];
    // A long file has too many names for memory.
    const names = openNames();
    await names.readFor(resource, records, Number.POSITIVE_INFINITY);
    const rows = records.map((record) => columns.map(([, value]) => value(record, names) ?? null));
    return rows.map((row) => csvRow({ ...row } as unknown as JsonObject, places)).join('');
  };
  return {
    header: BYTE_ORDER_MARK + csvHeader(columns.map(([label]) => label)),
    lineOf: async (document) => {
      waiting.push(await ofDocument(document, (record) => record));
      characters += document.length;
      return waiting.length === PART || characters > PART_CHARACTERS ? flush() : '';
    },
    footer: flush,
  };
}
