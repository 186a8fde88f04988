import { randomUUID } from 'node:crypto';
import type { Failure } from '../../errors/problem.js';
import { type Html, hidden, html, type Part } from '../../formats/html.js';
import { messageOf } from '../../validation/failure-messages.js';
import { LONG } from './columns.js';
import { type FormField, isAt, type Options, type Texts } from './form-fields.js';
import type { FormTokens } from './form-token.js';
import { capitalized } from './labels.js';
import { meaningKey, type Named } from './reference-input.js';

/** The texts that a form shows, and their faults. `id` distinguishes the forms of a page. */
export interface Filled {
  readonly id: string;
  readonly texts: Texts;
  readonly failures?: readonly Failure[] | undefined;
  /** The names of the records to which references may lead, by the collection, if these are few. */
  readonly offers?: ReadonlyMap<string, readonly string[]>;
  /** The meanings of the names that were entered, by `meaningKey`. */
  readonly named?: ReadonlyMap<string, Named>;
}

/** The beginning of a form that stands for a request, with values of its own. */
export function openForm(
  action: string,
  { token }: FormTokens,
  own: Readonly<Record<string, string>> = {},
  style?: string,
): Html {
  const inputs = Object.entries({ _token: token, ...own }).map(([name, value]) => hidden(name, value));
  return html`<form${style !== undefined && html` class="${style}"`} method="post" action="${action}">${inputs}\n`;
}

/** The options of a select. Browsers submit the label of one without a value, with single blanks. */
export const optionsOf = (
  options: readonly (readonly [value: string, label: string])[],
  given?: string,
): Html[] =>
  options.map(([value, label]) => {
    const isLabel = value === label && value === value.trim().replace(/\s+/g, ' ');
    return html`<option${!isLabel && html` value="${value}"`}${value === given && html` selected`}>${label}</option>`;
  });

/** A box to check. */
export const boxOf = (name: string, value: string, label: string, isChecked: boolean): Html =>
  html`<label class="check"><input type="checkbox" name="${name}" value="${value}"${isChecked && html` checked`}> ${label}</label>`;

/** A form that is a button. */
export const button = (action: string, label: string, forms: FormTokens, own = {}): Html =>
  html`${openForm(action, forms, { _key: randomUUID(), ...own })}<button>${label}</button></form>`;

/** All inputs of a form, those of an object together. */
export const inputsOf = (fields: readonly FormField[], filled: Filled): Html[] =>
  [...new Set(fields.map(({ group }) => group))].map((group) => {
    const own = fields.filter((field) => field.group === group);
    const inputs = html`${own.map((field) => inputOf(field, filled))}`;
    return group
      ? html`<fieldset><legend>${group}</legend><div class="two">${inputs}</div></fieldset>\n`
      : inputs;
  });

/** A labelled input with its hint and what is wrong with it. */
export function inputOf(field: FormField, filled: Filled): Html {
  const { name, kind, isList } = field;
  const id = idOf(field, filled);
  const own = filled.failures?.filter(({ path }) => isAt(field, path)) ?? [];
  const faults = own.map((each) => faultText(field, each)).join('; ');
  const texts = { hint: hintOf(field, filled), error: faults };
  const said = Object.entries(texts).filter(([, text]) => text !== '');
  const described = said.map(([style]) => `${id}-${style}`).join(' ');
  const state = html`${described !== '' && html` aria-describedby="${described}"`}${faults !== '' && html` aria-invalid="true"`}`;
  const notes = said.map(([style, text]) => html`<p class="${style}" id="${id}-${style}">${text}</p>`);
  const values = filled.texts.get(name) ?? [];
  // A required field may stay empty where access rules hide its value, and a password that stays.
  const isRequired = field.isRequired && (filled.id !== 'edit' || values.join('') !== '');
  const label = html`${field.label}${isRequired && html` <span class="dim">(required)</span>`}`;
  const offers = offerList(field, filled);
  if (isList)
    return html`<fieldset id="${id}"${kind !== 'choice' && html` class="rows"`}${state}><legend>${label}</legend>${kind === 'choice' ? boxesOf(name, optionsIn(field), values) : rowsOf(field, values, filled)}${offers}${notes}</fieldset>\n`;
  const attributes = html`id="${id}" name="${name}"${state}${isRequired && html` aria-required="true"`}`;
  const row = html`<div class="field"><label for="${id}">${label}</label>
${control(field, values[0] ?? '', filled, attributes)}${offers}${notes}</div>\n`;
  // Few people enter what no field is declared for.
  return kind === 'others' && faults === '' && values.join('').length <= '{}'.length
    ? html`<details><summary>More fields</summary><div>${row}</div></details>\n`
    : row;
}

/** Boxes of which several may be checked. */
export const boxesOf = (name: string, options: Options, texts: readonly string[]): Html =>
  html`<div class="checks">${options.map(([value, label]) => boxOf(name, value, label, texts.includes(value)))}</div>`;

const optionsIn = ({ options, choices }: FormField): Options =>
  options ?? choices.map((each) => [String(each), String(each)]);

/** One input for each item of an array, and two empty ones for more. */
const rowsOf = (field: FormField, texts: readonly string[], filled: Filled): Html[] =>
  [...texts.filter((text) => text !== ''), '', ''].map((text, at) => {
    const attributes = html`name="${field.name}" aria-label="${field.label} ${at + 1}"`;
    return html`${control(field, text, filled, attributes)}\n`;
  });

/** The names that a reference may have, for the browser to propose. */
const offerList = (field: FormField, filled: Filled): Part => {
  const names = filled.offers?.get(field.to ?? '') ?? [];
  const options = names.map((each) => html`<option value="${each}">`);
  return names.length > 0 && html`<datalist id="${idOf(field, filled)}-offers">${options}</datalist>`;
};

export const idOf = ({ name }: FormField, { id }: Filled): string =>
  `${id}-${name === '*' ? 'others' : name.replace(/^\//, '').replace(/[^\w-]/g, (character) => `.${character.charCodeAt(0)}`)}`;

/** A fault of a field or of a part of it, in words. */
export const faultText = ({ name, path: members }: FormField, { path, message }: Failure): string =>
  path === name ? message : `${members.at(-1)}${path.slice(name.length)} ${message}`;

/** The input of one value. */
function control(field: FormField, text: string, filled: Filled, attributes: Html): Html {
  const { kind } = field;
  if (kind === 'reference') return referenceControl(field, text, filled, attributes);
  if (kind === 'flag') return select(Object.entries(YES_OR_NO), text, attributes);
  if (kind === 'choice') return select(optionsIn(field), text, attributes);
  if (['long', 'json', 'others'].includes(kind) || /[\r\n]/.test(text))
    return html`<textarea rows="${kind === 'long' ? 3 : 5}" ${attributes}>\n${text}</textarea>`;
  return html`<input ${typeOf(field, text)} ${attributes} value="${kind === 'secret' ? '' : text}">`;
}

/** The type of an input, and its attributes. */
function typeOf({ kind, item }: FormField, text: string): Html {
  // In type number browsers read "12,50" as 1250; some decimal keyboards have no minus.
  if (kind === 'number')
    return html`type="text" autocomplete="off"${(item.minimum ?? -1) >= 0 && html` inputmode="decimal"`}`;
  if (kind === 'secret') return html`type="password" autocomplete="new-password"`;
  if (kind === 'time' && LOCAL_TIME.test(text)) return html`type="datetime-local" step="any"`;
  const keyboard = KEYBOARDS[item.format ?? ''];
  return html`type="${kind === 'date' ? kind : 'text'}"${keyboard && html` inputmode="${keyboard}"`}`;
}

/** An input for the name of a record, with a choice where several records, or some of nearly this name, may be meant. */
function referenceControl(field: FormField, text: string, filled: Filled, attributes: Html): Html {
  const key = meaningKey(field, text);
  const meaning = filled.named?.get(key);
  const choices = meaning && 'choices' in meaning ? meaning.choices : [];
  const chosen = html`name="${key}" aria-label="${field.label} instead of “${text}”"`;
  return html`<input ${attributes} list="${idOf(field, filled)}-offers" value="${text}">${choices.length > 0 && html`\n${select(choices, filled.texts.get(key)?.[0] ?? '', chosen)}`}`;
}

/** A time that browsers show in their own input, which has no text for any other. */
const LOCAL_TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(:[0-5]\d(\.\d{1,3})?)?)?$/;

/** The keyboards of formats. In inputs of the types email and url, browsers report one fault before the service reports all. */
const KEYBOARDS: Readonly<Record<string, string>> = { email: 'email', date: '', uri: 'url' };

/** The words for the values of a flag. */
export const YES_OR_NO: Readonly<Record<string, string>> = { true: 'Yes', false: 'No' };

/** A choice of one value or none; what else was entered is there as well. */
function select(options: Options, text: string, attributes: Html): Html {
  const all = [['', ''] as const, ...options];
  const isKnown = all.some(([value]) => value === text);
  return html`<select ${attributes}>${optionsOf(isKnown ? all : [...all, [text, text]], text)}</select>`;
}

/** The keywords of whose rules people learn before they enter a value. */
const RULES = [
  ...(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'format'] as const),
  ...(['pattern', 'minLength', 'maxLength'] as const),
];

/** The rules of a field, for people, in the words of its faults. */
function hintOf({ kind, schema, to }: FormField, { id }: Filled): string {
  // A format says more than the rules of its text.
  const rules = RULES.slice(0, schema.format === undefined ? undefined : -3).map((keyword) => {
    const value = schema[keyword];
    const isSeen = keyword === 'format' && (to !== undefined || KEYBOARDS[String(value)] !== undefined);
    const isUsual =
      (keyword === 'minLength' && value === 1) || (keyword === 'maxLength' && Number(value) > LONG);
    if (value === undefined || isSeen || isUsual) return '';
    return value === 'date-time' ? 'Time zone: UTC.' : `${capitalized(messageOf(keyword, value))}.`;
  });
  const stays = kind === 'secret' && id === 'edit' && 'Stays as it is if empty.';
  return [schema.description, kind === 'json' && 'JSON.', ...rules, stays].filter((part) => part).join(' ');
}
