import type { Resource } from '../collection/resource.js';
import type { Engine } from '../database-url/engine.js';
import type { Value } from '../db/db.js';
import { parametersIn } from './comparison-sql.js';
import type { Access } from './condition.js';
import { accessibleSql } from './condition-sql.js';
import { languageSql, markedWords, querySql, SEPARATORS } from './words.js';

/** Characters of each field from which excerpts come: the first ones, or if the text is longer those around the first of the words. */
const WINDOW = 10_000;
/** The characters of a longer text before that word. */
const BEFORE = 1000;

/** The marks before and after a word that is found. In the text itself, these characters become spaces. */
const MARKS = ['\u0001', '\u0002'] as const;
/** A control character for each separator, so that PostgreSQL finds the words that the index has. */
const CONTROLS = String.fromCharCode(...[...SEPARATORS].map((_, at) => 14 + at));

const literal = (text: string): string =>
  `e'${[...text].map((each) => `\\x${each.charCodeAt(0).toString(16).padStart(2, '0')}`).join('')}'`;

/** A control character on both sides of a separator beyond ASCII. */
const APART = '\u001f';

const REPLACED = [
  literal([...MARKS, ...CONTROLS, APART, ...SEPARATORS].join('')),
  literal(' '.repeat(MARKS.length + CONTROLS.length + APART.length) + CONTROLS),
].join(', ');
const SEPARATED = `${literal(APART)} || '\\1' || ${literal(APART)}`;

const OPTIONS = `'MaxFragments=3, MaxWords=20, MinWords=8, ShortWord=0, FragmentDelimiter=" … ", StartSel="' || ${literal(MARKS[0])} || '", StopSel="' || ${literal(MARKS[1])} || '"'`;

/** Reads the parts of fields in which the words of a search are, for some records: `id`, and a column for each field with words. */
export function excerptSql(
  resource: Resource,
  search: string,
  ids: readonly string[],
  access: Access | undefined,
  engine: Engine,
): { readonly text: string; readonly args: readonly Value[] } | undefined {
  const marked = markedWords(resource, search);
  if (!marked || ids.length === 0) return undefined;
  const args: Value[] = [`{${ids.join(',')}}`];
  const parameter = parametersIn(args);
  const query = querySql(resource, parameter(marked.query));
  // An initial plan computes the pattern once: the words begin with their stems, of which the last letter may differ.
  const stems = `unnest(tsvector_to_array(to_tsvector(${languageSql(resource)}, ${parameter(marked.text)}))) as stem`;
  const pattern = `(select '\\m(' || string_agg(regexp_replace(regexp_replace(stem, '\\W', '.', 'g'), '(....+).$', '\\1'), '|') || ')' from ${stems})`;
  const excerpts = resource.words.map((field, at) => {
    const column = `record.${resource.columns.get(field)!.name}`;
    const start = `greatest(coalesce(regexp_instr(${column}, ${pattern}, 1, 1, 0, 'i'), 0) - ${BEFORE}, 1)`;
    const part = `case when length(${column}) > ${WINDOW} then substr(${column}, ${start}, ${WINDOW}) else ${column} end`;
    return `ts_headline(${languageSql(resource)}, plinth_separated(translate(${part}, ${REPLACED}), ${SEPARATED}), ${query}, ${OPTIONS}) as excerpt_${at}`;
  });
  const source = accessibleSql(resource, 'record', access, parameter, engine);
  const text = `select record.id::text as id, ${excerpts.join(', ')} from ${source} where record.id = any ($1::uuid[])`;
  return { text, args };
}

const ESCAPED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  [MARKS[0]]: '<mark>',
  [MARKS[1]]: '</mark>',
};

/** An excerpt as HTML, whose only tags are `<mark>` around each word; undefined: it has none of the words. */
export function excerptHtml(text: string | null): string | undefined {
  if (text === null || !text.includes(MARKS[0])) return undefined;
  return [...text.replaceAll(APART, '')]
    .map((each) => {
      const separator = CONTROLS.indexOf(each);
      const character = separator < 0 ? each : SEPARATORS[separator]!;
      return ESCAPED[character] ?? character;
    })
    .join('');
}
