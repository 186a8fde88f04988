import type { Failure } from '../../errors/problem.js';
import { type Html, html, type Part } from '../../formats/html.js';
import { descriptionOf } from '../../validation/failure-messages.js';
import { type FieldSchema, fixedValues, LONG } from './columns.js';
import { choicesOf, type FormField, type Texts } from './form-fields.js';
import type { FormTokens } from './form-token.js';
import { meaningKey, type Named, type Offer } from './reference-input.js';

/** The texts that a form shows, and their faults. `id` distinguishes the forms of a page. */
export interface Filled {
  readonly id: string;
  readonly texts: Texts;
  readonly failures?: readonly Failure[];
  /** The records to which references may lead, by the collection. */
  readonly offers?: ReadonlyMap<string, Offer>;
  /** The meanings of the names that were entered, by `meaningKey`. */
  readonly named?: ReadonlyMap<string, Named>;
}

export const hidden = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

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
  options: Iterable<readonly [value: string, label: string]>,
  given?: string,
): Html[] =>
  [...options].map(([value, label]) => {
    const isLabel = value === label && value === value.trim().replace(/\s+/g, ' ');
    return html`<option${!isLabel && html` value="${value}"`}${value === given && html` selected`}>${label}</option>`;
  });

/** A box to check, or one of several of which one is. */
export const boxOf = (
  name: string,
  value: string,
  label: string,
  isChecked: boolean,
  type = 'checkbox',
): Html =>
  html`<label class="check"><input type="${type}" name="${name}" value="${value}"${isChecked && html` checked`}> ${label}</label>`;

/** A form that is a button. */
export const button = (action: string, label: string, forms: FormTokens, own = {}): Html =>
  html`${openForm(action, forms, own)}<button>${label}</button></form>`;

/** All inputs of a form. */
export function inputsOf(fields: readonly FormField[], filled: Filled): Html[] {
  const inputs: Html[] = [];
  for (let at = 0; at < fields.length; ) {
    const { group } = fields[at]!;
    const end = fields.findIndex((each, index) => index > at && each.group !== group);
    const members = fields.slice(at, end < 0 ? undefined : end);
    const shown = members.map((field) => inputOf(field, filled));
    at += members.length;
    if (group === undefined) inputs.push(...shown);
    else inputs.push(html`<fieldset><legend>${group}</legend><div class="two">${shown}</div></fieldset>\n`);
  }
  return inputs;
}

/** A labelled input with its hint and what is wrong with it. */
export function inputOf(field: FormField, filled: Filled): Html {
  const id = idOf(field, filled);
  const [hint, faults] = [hintOf(field, filled), failuresOf(field, filled)];
  const described = [hint === '' ? [] : `${id}-hint`, faults.length === 0 ? [] : `${id}-error`]
    .flat()
    .join(' ');
  const state = html`${described !== '' && html` aria-describedby="${described}"`}${faults.length > 0 && html` aria-invalid="true"`}`;
  const notes = html`${hint !== '' && html`<p class="hint" id="${id}-hint">${hint}</p>`}${
    faults.length > 0 && html`<p class="error" id="${id}-error">${faults.join('; ')}</p>`
  }`;
  const texts = filled.texts.get(field.name) ?? [];
  const label = html`${field.label}${field.isRequired && html` <span class="dim">(required)</span>`}`;
  if (field.kind === 'choices')
    return html`<fieldset id="${id}"${state}><legend>${label}</legend><div class="checks">${choicesOf(field.schema).map((choice) => boxOf(field.name, choice, choice, texts.includes(choice)))}</div>${notes}</fieldset>\n`;
  if (field.kind === 'rows' || field.kind === 'references')
    return html`<fieldset id="${id}" class="rows"${state}><legend>${label}</legend>${rowInputs(field, texts, filled)}${notes}</fieldset>\n`;
  const attributes = html`id="${id}" name="${field.name}"${state}`;
  const input =
    field.kind === 'reference'
      ? html`${referenceControl(field, texts[0] ?? '', filled, html`${attributes}${field.isRequired && html` required`}`)}${offerList(field, filled)}`
      : control(field, texts[0] ?? '', attributes);
  const row = html`<div class="field"><label for="${id}">${label}</label>
${input}${notes}</div>\n`;
  // Few people enter what no field is declared for.
  return field.kind === 'others' && faults.length === 0 && texts.join('').length <= '{}'.length
    ? html`<details><summary>More fields</summary><div>${row}</div></details>\n`
    : row;
}

/** An input for the name of a record; a choice where several records, or one of nearly this name, may be meant. */
function referenceControl(field: FormField, text: string, filled: Filled, attributes: Html): Html {
  const meaning = filled.named?.get(meaningKey(field, text));
  const choices = meaning && 'choices' in meaning ? meaning.choices : [];
  if (choices.length === 0)
    return html`<input ${attributes}${hasOffers(field, filled) && html` list="${offersId(field, filled)}"`} value="${text}">`;
  return html`<select ${attributes}>${optionsOf([[text, text], ...choices.map(({ id, name }) => [id, name] as const)], choices.length === 1 ? choices[0]!.id : text)}</select>`;
}

/** Empty inputs after the items of an array. */
const EMPTY_ROWS = 2;

/** One input for each item of an array, and empty ones for more. */
function rowInputs(field: FormField, texts: readonly string[], filled: Filled): Html {
  const rows = [...texts.filter((text) => text !== ''), ...Array.from({ length: EMPTY_ROWS }, () => '')];
  const inputs = rows.map((text, at) =>
    referenceControl(field, text, filled, html`name="${field.name}" aria-label="${field.label} ${at + 1}"`),
  );
  return html`${inputs.map((input) => [input, '\n'])}${offerList(field, filled)}`;
}

const hasOffers = ({ to }: FormField, { offers }: Filled): boolean =>
  (offers?.get(to ?? '')?.names ?? []).length > 0;

const offersId = ({ name }: FormField, { id }: Filled): string =>
  `${id}-offers-${name.slice(1).replace(/[^\w-]/g, '-')}`;

/** The names that a reference may have, for the browser to propose; or if there is no record, the way to the first one. */
function offerList(field: FormField, filled: Filled): Part {
  const { missing, creation } = filled.offers?.get(field.to ?? '') ?? {};
  if (missing !== undefined)
    return html`<p class="hint">There is no ${missing} yet.${creation !== undefined && html` <a href="${creation}" target="_blank" rel="noopener">Create one in another tab</a>`}</p>`;
  if (!hasOffers(field, filled)) return undefined;
  const { names } = filled.offers!.get(field.to!)!;
  return html`<datalist id="${offersId(field, filled)}">${names.map((each) => html`<option value="${each}">`)}</datalist>`;
}

export const idOf = ({ name }: FormField, { id }: Filled): string =>
  `${id}-${name === '*' ? 'others' : name.slice(1).replace(/[^\w-]/g, (character) => `.${character.charCodeAt(0)}`)}`;

/** The faults of a field or of a part of it. */
export function failuresOf({ name, kind, member }: FormField, { failures = [] }: Filled): string[] {
  return failures
    .filter(({ path }) =>
      kind === 'others'
        ? path === '*' || path.startsWith('*/')
        : path === name || path.startsWith(`${name}/`),
    )
    .map(({ path, message }) =>
      path === name || kind === 'others' ? message : `${member}${path.slice(name.length)} ${message}`,
    );
}

function control({ kind, schema, isRequired }: FormField, text: string, attributes: Html): Html {
  const required = isRequired && html` required`;
  switch (kind) {
    case 'choice':
      return select(fixedValues(schema) as readonly string[], text, html`${attributes}${required}`);
    case 'flag':
      return select(Object.keys(YES_OR_NO), text, html`${attributes}${required}`, YES_OR_NO);
    case 'number':
      return html`<input ${decimal(schema.minimum)} ${attributes}${required} value="${text}">`;
    case 'moment':
      return html`<input type="datetime-local" step="any" ${attributes}${required} value="${text}">`;
    case 'secret':
      return html`<input type="password" autocomplete="new-password" ${attributes}${required}>`;
    case 'long':
      return html`<textarea rows="5" ${attributes}${required}>\n${text}</textarea>`;
    case 'json':
    case 'others':
      return html`<textarea rows="4" spellcheck="false" ${attributes}${required}>\n${text}</textarea>`;
    default:
      return textInput(schema, text, html`${attributes}${required}`);
  }
}

/** The attributes of an input for a number. In type number browsers read "12,50" as 1250; some decimal keyboards have no minus. */
export const decimal = (minimum = -1): Html =>
  html`type="text" autocomplete="off"${minimum >= 0 && html` inputmode="decimal"`}`;

const INPUT_TYPES: Readonly<Record<string, string>> = { email: 'email', date: 'date', uri: 'url' };

function textInput(schema: FieldSchema, text: string, attributes: Html): Html {
  if (/[\r\n]/.test(text)) return html`<textarea rows="5" ${attributes}>\n${text}</textarea>`;
  // Patterns of HTML apply to the whole value, those of JSON Schema to a part.
  const [, pattern] = /^\^([^|]*)\$$/.exec(schema.pattern ?? '') ?? [];
  const type = INPUT_TYPES[schema.format ?? ''] ?? 'text';
  return html`<input type="${type}" ${attributes}${limit('minlength', schema.minLength)}${pattern !== undefined && html` pattern="${pattern}"`} value="${text}">`;
}

const limit = (name: string, value: number | undefined): Part =>
  value !== undefined && html` ${name}="${value}"`;

/** The words for the values of a flag. */
export const YES_OR_NO: Readonly<Record<string, string>> = { true: 'Yes', false: 'No' };

function select(
  options: readonly string[],
  text: string,
  attributes: Html,
  labels: Readonly<Record<string, string>> = {},
): Html {
  const all = options.includes(text) || text === '' ? options : [...options, text];
  return html`<select ${attributes}><option value=""></option>${optionsOf(
    all.map((each) => [each, labels[each] ?? each] as const),
    text,
  )}</select>`;
}

/** The words before the value of a keyword. */
const BOUNDS = {
  minimum: 'At least',
  maximum: 'At most',
  exclusiveMinimum: 'More than',
  exclusiveMaximum: 'Less than',
  multipleOf: 'A multiple of',
  pattern: 'Pattern:',
} as const satisfies Partial<Record<keyof FieldSchema, string>>;

/** The rule of a field, for people. */
function hintOf({ kind, schema, isRequired }: FormField, { id }: Filled): string {
  const { description, minLength = 0, maxLength = LONG + 1 } = schema;
  const isShort = maxLength <= LONG && (kind === 'text' || kind === 'secret');
  const bounds = Object.entries(BOUNDS).map(([keyword, words]) => {
    const value = schema[keyword as keyof typeof BOUNDS];
    return value !== undefined && `${words} ${value}${keyword === 'pattern' ? '' : '.'}`;
  });
  const parts = [
    description,
    kind === 'json' && 'JSON.',
    ...bounds,
    minLength > 1 && `Min ${minLength} characters.`,
    isShort && `Max ${maxLength} characters.`,
    formatHint(schema),
    kind === 'secret' && !isRequired && id === 'edit' && 'Stays as it is if empty.',
  ];
  return parts.filter((part) => part).join(' ');
}

/** The form of a text for which browsers have no input. */
function formatHint({ format, 'x-references': to }: FieldSchema): string | undefined {
  if (to !== undefined) return undefined;
  if (format === 'date-time') return 'Time zone: UTC.';
  const text = format === undefined || INPUT_TYPES[format] ? undefined : descriptionOf(format);
  return text && `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
