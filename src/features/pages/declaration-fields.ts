import { isDeepStrictEqual } from 'node:util';
import {
  type DeclaredField,
  FIELD_TYPES,
  referencesTo,
  referenceTo,
} from '../../declarations/declaration.js';
import { type Html, html } from '../../formats/html.js';
import { escapeToken, isObject, type Json, type JsonObject } from '../../json.js';
import { refusal } from './declaration-files.js';
import { hidden } from './form-html.js';
import { tableOf } from './list-table.js';
import type { SubmittedForm } from './submitted-form.js';

/** A field of a declaration as a row of a form. */
interface FieldRow {
  /** The name in the file; empty: the field is new. */
  readonly was: string;
  /** Empty: the field is removed. */
  readonly name: string;
  /** A key of LABELS; empty: another type, which stays. */
  readonly type: string;
  /** The texts that the field may have, between commas, or the collection to which it refers. */
  readonly choices: string;
  /** The rules of FLAGS that are chosen. */
  readonly flags: readonly string[];
}

/** The rules with a box, and their keywords. */
const FLAGS: readonly (readonly [flag: string, keyword: string])[] = [
  ['required', 'required'],
  ['unique', 'x-unique'],
  ['sortable', 'x-index'],
  ['searched', 'x-search'],
];

/** The words for the types of fields. */
const LABELS: Readonly<Record<string, string>> = {
  string: 'Text',
  number: 'Number',
  integer: 'Whole number',
  boolean: 'Yes or no',
  date: 'Date',
  'date-time': 'Date and time',
  strings: 'List of texts',
  object: 'Object',
  one: 'Reference',
  many: 'References',
  '': 'As in the JSON',
};

/** The fields of a declaration as rows. */
export function rowsOf({ properties, required }: JsonObject): FieldRow[] {
  return Object.entries(isObject(properties) ? properties : {}).map(([name, rules]) => {
    const field = isObject(rules) ? rules : {};
    const isSet = (keyword: string) =>
      keyword === 'required' ? Array.isArray(required) && required.includes(name) : keyword in field;
    const flags = FLAGS.filter(([, keyword]) => isSet(keyword)).map(([column]) => column);
    return { was: name, name, type: typeIn(field), choices: choicesIn(field), flags };
  });
}

/** The rows that a form submitted. */
export function rowsIn({ texts }: SubmittedForm): FieldRow[] {
  const at = (column: string, row: number) => texts.get(column)?.[row]?.trim() ?? '';
  return (texts.get('name') ?? []).map((_, row) => ({
    ...{
      was: at('was', row),
      name: at('name', row),
      type: typeOf(at('type', row)),
      choices: at('choices', row),
    },
    flags: FLAGS.map(([column]) => column).filter((column) => texts.get(column)?.includes(String(row))),
  }));
}

const typeOf = (label: string): string => Object.keys(LABELS).find((each) => LABELS[each] === label) ?? '';

/** A declaration with the fields of rows in place of its own. Keywords that no row shows stay. Throws 400. */
export function withRows(declared: JsonObject, rows: readonly FieldRow[]): JsonObject {
  const own = rows.filter(({ name }) => name !== '');
  const twice = own.find(({ name }, at) => own.findIndex((each) => each.name === name) < at);
  if (twice) throw refusal(`/properties/${escapeToken(twice.name)}`, 'is there twice');
  const { properties: former = {}, required: before = [] } = declared as Record<string, JsonObject>;
  const properties = Object.fromEntries(own.map((row) => [row.name, fieldOf(row, former[row.was])]));
  const names = [
    // In the order of the file, also names of fields that are declared elsewhere.
    ...(before as unknown as string[]).map((name) => rows.find(({ was }) => was === name)?.name ?? name),
    ...own.map(({ name }) => name),
  ];
  const required = [...new Set(names)].filter(
    (name) => name !== '' && (own.find((row) => row.name === name)?.flags.includes('required') ?? true),
  );
  const { required: _, ...rest } = declared;
  return required.length === 0 ? { ...rest, properties } : { ...declared, required, properties };
}

function fieldOf({ was, name, type, choices, flags }: FieldRow, declared: Json | undefined): Json {
  const former = isObject(declared) ? declared : {};
  const isSame =
    isObject(declared) && typeIn(former) === type && (!(type in REFERENCES) || choicesIn(former) === choices);
  const rules = isSame ? { ...former } : withType(type, choices, former);
  if (isObject(declared) && was !== name) rules['x-was'] = was;
  if (!(type in REFERENCES) && choices !== choicesIn(rules)) {
    const values = choices.split(',').map((each) => each.trim());
    rules.enum = values.filter((each) => each !== '');
    if (rules.enum.length === 0) delete rules.enum;
  }
  for (const [column, keyword] of FLAGS) {
    if (column === 'required') continue;
    if (!flags.includes(column)) delete rules[keyword];
    else rules[keyword] ??= true;
  }
  return rules;
}

const REFERENCES: Readonly<Record<string, (to: string) => DeclaredField>> = {
  one: referenceTo,
  many: referencesTo,
};

function withType(type: string, to: string, former: JsonObject): JsonObject {
  const {
    type: _,
    format,
    items,
    enum: values,
    'x-references': from,
    'x-on-delete': action,
    ...rest
  } = former;
  const own = REFERENCES[type]?.(to) ?? FIELD_TYPES[type] ?? FIELD_TYPES.string;
  return { ...(own as JsonObject), ...rest };
}

/** The type of a field in the form. */
function typeIn(field: JsonObject): string {
  const shape = ({ type, format, items }: JsonObject) => [type, format, items];
  const same = ([, rules]: [string, DeclaredField]) =>
    isDeepStrictEqual(shape(rules as unknown as JsonObject), shape(field));
  if (targetIn(field) !== undefined) return field['x-references'] === undefined ? 'many' : 'one';
  return Object.entries(FIELD_TYPES).find(same)?.[0] ?? '';
}

/** The collection to which a field, or the items of one, refer. */
const targetIn = ({ items, 'x-references': to }: JsonObject): Json | undefined =>
  to ?? (isObject(items) ? items['x-references'] : undefined);

const choicesIn = (field: JsonObject): string => {
  const { enum: values } = field;
  if (Array.isArray(values) && values.every((each) => typeof each === 'string')) return values.join(', ');
  return String(targetIn(field) ?? '');
};

/** Rows for new fields, and for all of a new collection. */
const NEW_ROWS = 3;
const FIRST_ROWS = 6;

/** The rows as inputs, with some for new fields. */
export function fieldTable(rows: readonly FieldRow[]): Html {
  const empty = { was: '', name: '', type: 'string', choices: '', flags: [] };
  const body = [
    ...rows,
    ...Array.from({ length: rows.length === 0 ? FIRST_ROWS : NEW_ROWS }, () => empty),
  ].map((row, at) => {
    const { was, name, type, choices, flags } = row;
    const of = name === '' ? `field ${at + 1}` : name;
    const options = Object.entries(LABELS).map(
      ([each, label]) =>
        (each !== '' || type === '') && html`<option${each === type && html` selected`}>${label}</option>`,
    );
    const boxes = FLAGS.map(
      ([flag]) =>
        html`<label class="flag"><input type="checkbox" name="${flag}" value="${at}"${flags.includes(flag) && html` checked`}> ${flag}</label> `,
    );
    return [
      html`${hidden('was', was)}<input name="name" aria-label="Name of ${of}" placeholder="Name" value="${name}">`,
      html`<select name="type" aria-label="Type of ${of}">${options}</select>`,
      html`<input name="choices" aria-label="Choices of ${of}" value="${choices}">`,
      boxes,
    ];
  });
  return html`${tableOf(
    ['Name', 'Type', 'Choices', 'Rules'].map((label) => ({ label })),
    body,
  )}
<p class="hint">A field without a name is removed. Choices are texts between commas, of a reference its collection. Keywords that the table does not show stay.</p>`;
}
