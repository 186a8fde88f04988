import type { Resource } from '../../collection/resource.js';
import { type Html, html } from '../../formats/html.js';
import type { Json, JsonObject } from '../../json.js';

/** A field that a new user must fill in. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type: 'text' | 'number' | 'boolean' | 'choice';
  readonly choices: readonly string[];
}

interface Declared {
  readonly type?: unknown;
  readonly title?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
}

/** The required fields of users without a default, except the address. Programs may send all fields. */
export function formFields({ schema, readOnly, set }: Resource): Field[] {
  const isOffered = (name: string) =>
    !['email', 'password'].includes(name) &&
    !readOnly.includes(name) &&
    !set.some(({ field }) => field === name);
  return schema.required.filter(isOffered).flatMap((name) => {
    const declared = (schema.properties as Readonly<Record<string, Declared>>)[name] ?? {};
    if (declared.default !== undefined) return [];
    const types = [declared.type].flat();
    const choices = (declared.enum ?? []).filter((choice) => typeof choice === 'string');
    const isNumber = types.includes('number') || types.includes('integer');
    const type =
      choices.length > 0 ? 'choice' : isNumber ? 'number' : types.includes('boolean') ? 'boolean' : 'text';
    const label = declared.title ?? name.charAt(0).toUpperCase() + name.slice(1);
    return [{ name, label, type, choices }];
  });
}

/** The label and the input of a field. */
export function fieldInput({ name, label, type, choices }: Field, value: string): Html {
  const attributes = html`id="field-${name}" name="${name}"`;
  if (type === 'boolean')
    return html`<label class="check"><input type="checkbox" ${attributes} value="true"${value === 'true' && html` checked`}> ${label}</label>`;
  const options = choices.map(
    (choice) => html`<option${choice === value && html` selected`}>${choice}</option>`,
  );
  return html`<label for="field-${name}">${label}</label>
${
  type === 'choice'
    ? html`<select ${attributes} required>${options}</select>`
    : html`<input ${attributes}${type === 'number' && html` type="number" step="any"`}${name === 'name' && html` autocomplete="name"`} required value="${value}">`
}`;
}

/** The values of a form as their fields are declared. An empty entry is absent. */
export function typedValues(values: JsonObject, fields: readonly Field[]): JsonObject {
  const typed = ({ name, type }: Field): Json | undefined => {
    const text = Object.hasOwn(values, name) ? String(values[name]) : '';
    if (type === 'boolean') return text !== '';
    if (text === '') return undefined;
    return type === 'number' && Number.isFinite(Number(text)) ? Number(text) : text;
  };
  const entries = fields.map((field) => [field.name, typed(field)] as const);
  return Object.fromEntries(
    [...entries, ['password', values.password ?? '']].filter(([, value]) => value !== undefined),
  );
}
