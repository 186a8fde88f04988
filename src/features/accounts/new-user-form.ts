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

/** The required fields of users without a default, except the address. Programs may send all fields. */
export function formFields({ schema, readOnly, set }: Resource): Field[] {
  const omitted = ['email', 'password', ...readOnly, ...set.map(({ field }) => field)];
  const properties = schema.properties as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  const isOffered = (name: string) => !omitted.includes(name) && properties[name]?.default === undefined;
  return schema.required.filter(isOffered).map((name) => {
    const { type: declared, title = labelOf(name), enum: values } = properties[name] ?? {};
    const choices = [values].flat().filter((choice) => typeof choice === 'string');
    const types = [declared].flat();
    const isNumber = types.includes('number') || types.includes('integer');
    const simple = isNumber ? 'number' : types.includes('boolean') ? 'boolean' : 'text';
    return { name, label: String(title), type: choices.length > 0 ? 'choice' : simple, choices };
  });
}

export const labelOf = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

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
