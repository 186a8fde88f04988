import { isDeepStrictEqual } from 'node:util';
import {
  type DeclaredField,
  FIELD_TYPES,
  referencesTo,
  referenceTo,
} from '../../declarations/declaration.js';
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
const FLAGS: Readonly<Record<string, string | undefined>> = {
  required: undefined,
  unique: 'x-unique',
  sortable: 'x-index',
  searched: 'x-search',
};

/** The types of fields by their labels, besides references, whose labels name the collection. */
const TYPES: Readonly<Record<string, DeclaredField | undefined>> = {
  Text: FIELD_TYPES.string,
  Number: FIELD_TYPES.number,
  'Whole number': FIELD_TYPES.integer,
  'Yes or no': FIELD_TYPES.boolean,
  Date: FIELD_TYPES.date,
  'Date and time': FIELD_TYPES['date-time'],
  'List of texts': FIELD_TYPES.strings,
  Object: FIELD_TYPES.object,
};
const [ONE, MANY] = ['Reference to ', 'References to '];
/** Any other type, which stays. */
const OTHER = 'As in the JSON';

function typeOf({ type, format, items, 'x-references': one }: JsonObject): string {
  const many = isObject(items) ? items['x-references'] : undefined;
  if (one !== undefined || many !== undefined) return (one === undefined ? MANY : ONE) + String(one ?? many);
  const own = Object.entries({ type, format, items }).filter(([, each]) => each !== undefined);
  const labels = Object.keys(TYPES);
  return labels.find((label) => isDeepStrictEqual(TYPES[label], Object.fromEntries(own))) ?? OTHER;
}

function rulesOf(label: string): DeclaredField {
  if (label.startsWith(ONE)) return referenceTo(label.slice(ONE.length));
  return label.startsWith(MANY)
    ? referencesTo(label.slice(MANY.length))
    : (TYPES[label] ?? { type: 'string' });
}

/** The fields of a declaration as rows. */
export function rowsOf({ properties, required }: JsonObject): FieldRow[] {
  return Object.entries(isObject(properties) ? properties : {}).map(([name, rules]) => {
    const field = isObject(rules) ? rules : {};
    const has = (keyword = '') =>
      keyword === '' ? Array.isArray(required) && required.includes(name) : keyword in field;
    const flags = Object.keys(FLAGS).filter((flag) => has(FLAGS[flag]));
    return { was: name, name, type: typeOf(field), choices: choicesIn(field), flags };
  });
}

/** The rows that a form submitted. */
export function rowsIn({ texts }: SubmittedForm): FieldRow[] {
  const rows = (texts.get('name') ?? []).map((_, row) => {
    const cells = COLUMNS.map((column) => [column, texts.get(column)?.[row]?.trim() ?? '']);
    const flags = Object.keys(FLAGS).filter((flag) => texts.get(flag)?.includes(String(row)));
    return { ...Object.fromEntries(cells), flags } as FieldRow;
  });
  return rows.filter(({ was, name }) => was !== '' || name !== '');
}

/** A declaration with the fields of rows in place of its own. Keywords that no row shows stay. Throws 400. */
export function withRows(declared: JsonObject, rows: readonly FieldRow[]): JsonObject {
  const own = new Map(rows.map((row) => [row.name, row]));
  own.delete('');
  const twice = rows.find((row) => row.name !== '' && own.get(row.name) !== row);
  if (twice) throw refusal(`/properties/${escapeToken(twice.name)}`, 'is there twice');
  const { properties: former = {}, required: before = [], ...rest } = declared as Record<string, JsonObject>;
  const properties = Object.fromEntries([...own].map(([name, row]) => [name, fieldOf(row, former[row.was])]));
  // In the order of the file, also names of fields that are declared elsewhere.
  const renamed = (name: string) => rows.find(({ was }) => was === name)?.name ?? name;
  const names = new Set([...(before as unknown as string[]).map(renamed), ...own.keys()]);
  names.delete('');
  const required = [...names].filter((name) => own.get(name)?.flags.includes('required') ?? true);
  return required.length === 0 ? { ...rest, properties } : { ...declared, required, properties };
}

function fieldOf({ was, name, type, choices, flags }: FieldRow, declared: Json | undefined): Json {
  const former = isObject(declared) ? declared : {};
  const { type: _, format, items, enum: values, 'x-references': to, 'x-on-delete': action, ...rest } = former;
  const isSame = isObject(declared) && typeOf(former) === type;
  const rules: JsonObject = isSame ? { ...former } : { ...(rulesOf(type) as JsonObject), ...rest };
  if (isObject(declared) && was !== name) rules['x-was'] = was;
  const texts = choices.split(',').map((each) => each.trim());
  if (choices === '' && choicesIn(rules) !== '') delete rules.enum;
  else if (choices !== choicesIn(rules)) rules.enum = texts.filter((each) => each !== '');
  for (const [flag, keyword] of Object.entries(FLAGS)) {
    if (keyword === undefined) continue;
    if (flags.includes(flag)) rules[keyword] ??= true;
    else delete rules[keyword];
  }
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
    const types = [...new Set([...Object.keys(TYPES), ...references, type])];
    return [
      html`${hidden('was', was)}<input name="name" aria-label="Name of ${of}" placeholder="Name" value="${name}">`,
      html`<select name="type" aria-label="Type of ${of}">${optionsOf(
        types.map((each) => [each, each]),
        type,
      )}</select>`,
      html`<input name="choices" aria-label="Choices of ${of}" value="${choices}">`,
      Object.keys(FLAGS).map(
        (flag) =>
          html`<label class="flag"><input type="checkbox" name="${flag}" value="${at}"${flags.includes(flag) && html` checked`}> ${flag}</label> `,
      ),
    ];
  });
  const heads = ['Name', 'Type', 'Choices', 'Rules'].map((label) => ({ label }));
  return html`${tableOf(heads, body)}
<p class="hint">A field without a name is removed. Choices are texts between commas. Keywords that the table does not show stay.</p>`;
}
