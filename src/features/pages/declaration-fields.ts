import { isDeepStrictEqual } from 'node:util';
import { FIELD_TYPES, referenceTo } from '../../declarations/declaration.js';
import { type Html, hidden, html } from '../../formats/html.js';
import { escapeToken, isObject, type Json, type JsonObject } from '../../json.js';
import { refusal } from './declaration-files.js';
import { optionsOf } from './form-html.js';
import { tableOf } from './list-table.js';
import type { Site } from './site.js';
import type { SubmittedForm } from './submitted-form.js';

/** A field of a declaration as a row of a form: its texts by column, and the rules that are chosen. */
export interface FieldRow extends Readonly<Record<(typeof COLUMNS)[number], string>> {
  readonly flags: readonly string[];
}

/**
 * The name in the file (empty: the field is new), the name (empty: the field is removed), the label of the type, and the texts
 * that the field may have, between commas.
 */
const COLUMNS = ['was', 'name', 'type', 'choices'] as const;

/** The rules with a box, with their keywords in a field. */
const KEYWORDS: Readonly<Record<string, string>> = {
  unique: 'x-unique',
  sortable: 'x-index',
  searched: 'x-search',
};
const FLAGS = ['required', ...Object.keys(KEYWORDS)];

/** The usual types by their labels. */
const TYPES = new Map(
  [
    ['Text', 'string'],
    ['Number', 'number'],
    ['Whole number', 'integer'],
    ['Yes or no', 'boolean'],
    ['Date', 'date'],
    ['Date and time', 'date-time'],
    ['List of texts', 'strings'],
    ['Object', 'object'],
  ].map(([label = '', word = '']) => [label, FIELD_TYPES.get(word)!]),
);
const [ONE, MANY] = ['Reference to ', 'References to '];

/** The label of the type of a field. Any other type than the usual ones stays. */
function typeOf({ type, format, items, 'x-references': one }: JsonObject): string {
  const many = isObject(items) ? items['x-references'] : undefined;
  if (one !== undefined || many !== undefined) return (one === undefined ? MANY : ONE) + String(one ?? many);
  const own = [type, format, items];
  const usual = [...TYPES].find(([, each]) => isDeepStrictEqual([each.type, each.format, each.items], own));
  return usual?.[0] ?? 'As in the JSON';
}

/** The fields of a declaration as rows. */
export function rowsOf({ properties, required }: JsonObject): FieldRow[] {
  return Object.entries(isObject(properties) ? properties : {}).map(([name, rules]) => {
    const field = isObject(rules) ? rules : {};
    const isRequired = Array.isArray(required) && required.includes(name);
    const flags = FLAGS.filter((flag) => (flag in KEYWORDS ? KEYWORDS[flag]! in field : isRequired));
    return { was: name, name, type: typeOf(field), choices: choicesIn(field), flags };
  });
}

/** The rows that a form submitted. */
export function rowsIn({ texts }: SubmittedForm): FieldRow[] {
  const rows = (texts.get('name') ?? []).map((_, row) => {
    const cells = COLUMNS.map((column) => [column, texts.get(column)?.[row]?.trim() ?? '']);
    const flags = FLAGS.filter((flag) => texts.get(flag)?.includes(String(row)));
    return { ...Object.fromEntries(cells), flags } as FieldRow;
  });
  return rows.filter(({ was, name }) => was !== '' || name !== '');
}

/** A declaration with the fields of rows in place of its own. Keywords that no row shows stay. Throws 400. */
export function withRows(declared: JsonObject, rows: readonly FieldRow[]): object {
  const named = rows.filter(({ name }) => name !== '');
  const own = new Map(named.map((row) => [row.name, row]));
  const twice = named.find((row) => own.get(row.name) !== row);
  if (twice) throw refusal(`/properties/${escapeToken(twice.name)}`, 'is there twice');
  const { properties = {}, required = [] } = declared as Record<string, JsonObject>;
  // Fields without a row stay: others have added them since, or names in `required` are declared elsewhere.
  const isOther = (name: string) => !own.has(name) && !rows.some(({ was }) => was === name);
  const others = (required as unknown as string[]).filter(isOther);
  const listed = named.map((row) => [row.name, fieldOf(row, properties[row.was])] as const);
  const unlisted = Object.entries(properties).filter(([name]) => isOther(name));
  const chosen = named.filter(({ flags }) => flags.includes('required')).map(({ name }) => name);
  return {
    ...declared,
    required: others.length + chosen.length > 0 ? [...others, ...chosen] : undefined,
    properties: Object.fromEntries([...listed, ...unlisted]),
  };
}

function fieldOf({ was, name, type, choices, flags }: FieldRow, declared: Json | undefined): Json {
  const former = isObject(declared) ? declared : {};
  const { type: _, format, items, enum: values, 'x-references': to, 'x-on-delete': action, ...rest } = former;
  const own = TYPES.get(type) ?? referenceTo(type.replace(ONE, '').replace(MANY, ''), type.startsWith(MANY));
  const rules = (typeOf(former) === type ? { ...former } : { ...own, ...rest }) as JsonObject;
  if (isObject(declared) && was !== name) rules['x-was'] = was;
  const texts = choices.split(',').map((each) => each.trim());
  if (choices === '' && choicesIn(rules) !== '') delete rules.enum;
  else if (choices !== choicesIn(rules)) rules.enum = texts.filter((each) => each !== '');
  for (const [flag, keyword] of Object.entries(KEYWORDS))
    if (flags.includes(flag)) rules[keyword] ??= true;
    else delete rules[keyword];
  return rules;
}

const choicesIn = ({ enum: values }: JsonObject): string =>
  Array.isArray(values) && values.every((each) => typeof each === 'string') ? values.join(', ') : '';

/** Rows for new fields. */
const NEW_ROWS = 4;

/** The rows as inputs, with some for new fields. */
export function fieldTable(rows: readonly FieldRow[], { collections }: Pick<Site, 'collections'>): Html {
  const empty = { was: '', name: '', type: 'Text', choices: '', flags: [] };
  const references = collections.flatMap(({ resource: { name } }) => [ONE + name, MANY + name]);
  const body = [...rows, ...Array.from({ length: NEW_ROWS }, () => empty)].map((row, at) => {
    const { was, name, type, choices, flags } = row;
    const of = name === '' ? `field ${at + 1}` : name;
    const types = [...new Set([...TYPES.keys(), ...references, type])].map((each) => [each, each] as const);
    return [
      html`${hidden('was', was)}<input name="name" aria-label="Name of ${of}" placeholder="Name" value="${name}">`,
      html`<select name="type" aria-label="Type of ${of}">${optionsOf(types, type)}</select>`,
      html`<input name="choices" aria-label="Choices of ${of}" value="${choices}">`,
      FLAGS.map(
        (flag) =>
          html`<label class="flag"><input type="checkbox" name="${flag}" value="${at}"${flags.includes(flag) && html` checked`}> ${flag}</label> `,
      ),
    ];
  });
  const heads = ['Name', 'Type', 'Choices', 'Rules'].map((label) => ({ label }));
  return html`${tableOf(heads, body)}
<p class="hint">A field without a name is removed. Choices are texts between commas. Keywords that the table does not show stay.</p>`;
}
