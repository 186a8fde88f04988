import type { Resource } from '../../collection/resource.js';
import type { Failure } from '../../errors/problem.js';
import { type Html, html } from '../../formats/html.js';
import { type JsonObject, member } from '../../json.js';
import type { Language } from './mail-messages.js';
import { accountPage, addressForm, codeForm, doneText, FORM_TEXTS } from './password-pages.js';

const TEXTS = {
  en: {
    title: 'Create an account',
    ask: 'Enter your address. You get a message with a link, with which you complete your account.',
    sent: 'A message is on its way to this address. Its link is valid for 30 minutes. If you have an account already, the message says so.',
    haveCode: 'Enter the code from the message',
    password: 'Password, of 8 characters or more',
    create: 'Create the account',
    done: 'Your account is ready. Sign in with your address and the password.',
  },
  de: {
    title: 'Konto anlegen',
    ask: 'Geben Sie Ihre Adresse ein. Sie erhalten eine Nachricht mit einem Link, mit dem Sie Ihr Konto anlegen.',
    sent: 'Eine Nachricht an diese Adresse ist unterwegs. Ihr Link gilt 30 Minuten. Wenn Sie schon ein Konto haben, steht das in der Nachricht.',
    haveCode: 'Code aus der Nachricht eingeben',
    password: 'Passwort, mindestens 8 Zeichen',
    create: 'Konto anlegen',
    done: 'Ihr Konto ist bereit. Melden Sie sich mit Ihrer Adresse und dem Passwort an.',
  },
} as const satisfies Record<Language, Record<string, string>>;

/** A field that a person who signs up must fill in. */
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

/** The page on which a person enters an address; `sent`: after that. */
export function signUpPage(language: Language, state: 'ask' | 'sent', fault?: string): string {
  const text = TEXTS[language];
  const body =
    state === 'sent'
      ? html`<p role="status">${text.sent}</p>\n<p><a href="/sign-up?code=">${text.haveCode}</a></p>`
      : addressForm(language, '/sign-up', text.ask, fault);
  return accountPage(language, text.title, body);
}

/** The state of the form that completes an account. */
interface Completion {
  readonly code: string;
  readonly values?: JsonObject;
  /** Why the last attempt failed, or that it succeeded. */
  readonly reason?: 'ended' | 'done' | readonly Failure[];
  /** The page on which people sign in, for the end. */
  readonly signIn?: string | undefined;
}

/** The page on which a person with a code completes an account. */
export function completionPage(
  language: Language,
  fields: readonly Field[],
  { code, values = {}, reason = [], signIn }: Completion,
): string {
  const text = TEXTS[language];
  if (reason === 'done') return accountPage(language, text.title, doneText(language, text.done, signIn));
  const labels = new Map([
    ...fields.map(({ name, label }) => [`/${name}`, label] as const),
    ['/password', text.password],
  ]);
  const faults =
    reason === 'ended'
      ? [FORM_TEXTS[language].ended]
      : reason.map(({ path, message }) => `${labels.get(path) ?? path} ${message}`);
  const inputs = fields.map((field) => [fieldInput(field, String(member(values, field.name) ?? '')), '\n']);
  const paths = { action: '/sign-up', again: '/sign-up' };
  const { password, create: save } = text;
  const body = codeForm(language, { ...paths, faults, code, fields: inputs, password, save });
  return accountPage(language, text.title, body);
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
