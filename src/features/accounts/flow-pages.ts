import type { Failure } from '../../errors/problem.js';
import { type Html, html, htmlDocument, type Part } from '../../formats/html.js';
import { type JsonObject, member } from '../../json.js';
import { COMMON, FLOW_TEXTS, type FlowTexts } from './flow-texts.js';
import type { Language } from './mail-messages.js';
import type { CodeKind } from './mailed-code.js';
import { type Field, fieldInput } from './new-user-form.js';

export interface FlowPaths {
  readonly kind: CodeKind;
  /** The page to which the message leads. */
  readonly path: string;
  /** The page that requests a message, also another one. */
  readonly again?: string;
}

/** The contents of the form with a code. */
export interface Shown {
  /** Lines about the thing that the code confirms. */
  readonly about?: readonly string[];
  /** Of a new user. */
  readonly fields?: readonly Field[];
  readonly hasPassword?: boolean;
  readonly isMember?: boolean;
  /** Where a person who has an account signs in first. */
  readonly signIn?: string | undefined;
}

/** The state of a page: a form with a code, or another step. */
export type FlowState = {
  readonly failures?: readonly Failure[];
  /** The page to which the person returns in the end. */
  readonly back: string | undefined;
} & (
  | { readonly end: 'ask' | 'sent' | 'half' | 'done'; readonly next?: string | undefined }
  | {
      readonly end?: undefined;
      readonly code: string;
      /** Undefined: the code has no form. */
      readonly shown: Shown | undefined;
      readonly values: JsonObject;
    }
);

/** The page of a flow. */
export function flowPage(flow: FlowPaths, language: Language, state: FlowState): string {
  const text = FLOW_TEXTS[flow.kind][language];
  const faults = (state.failures ?? []).map(
    (failure) => html`<p class="error" role="alert">${faultText(text, language, state, failure)}</p>\n`,
  );
  const body = html`<main class="narrow">\n<h1>${text.title}</h1>\n${faults}${bodyOf(flow, text, language, state)}\n</main>`;
  return htmlDocument(text.title, body, undefined, language);
}

function bodyOf(flow: FlowPaths, text: FlowTexts, language: Language, state: FlowState): Part {
  const common = COMMON[language];
  const { back } = state;
  const hidden = back !== undefined && html`\n<input type="hidden" name="return" value="${back}">`;
  const query = back === undefined ? '' : `&return=${encodeURIComponent(back)}`;
  const link = (href: string | undefined, label: string): Part =>
    href !== undefined && html`\n<p><a href="${href}">${label}</a></p>`;
  if (state.end === 'ask')
    return html`<p>${text.ask}</p>
<form method="post" action="${flow.again}">${hidden}
<label for="email">${common.email}</label>
<input id="email" name="email" type="email" autocomplete="username" required maxlength="254">
<button class="main">${common.send}</button>
</form>`;
  if (state.end === 'sent')
    return html`<p role="status">${text.sent}</p>${link(`${flow.path}?code=${query}`, common.haveCode)}`;
  if (state.end) {
    const next = state.end === 'half' ? undefined : (back ?? state.next);
    return html`<p role="status">${text[state.end]}</p>${link(next, next === state.next && next !== '/' ? common.signIn : common.continue)}`;
  }
  const { code, shown, values } = state;
  if (!shown) return undefined;
  const { about = [], fields = [], hasPassword, isMember, signIn } = shown;
  const intro = isMember ? text.memberText : text.text;
  return html`${intro !== undefined && html`<p>${intro}</p>`}${about.map((line) => html`<p><strong>${line}</strong></p>`)}
<form method="post" action="${flow.path}">${hidden}
<label for="code">${common.code}</label>
<input id="code" name="code" autocomplete="one-time-code" required maxlength="40" value="${code}">
${fields.map((field) => [fieldInput(field, String(member(values, field.name) ?? '')), '\n'])}${hasPassword && passwordInput(common.password)}
<button class="main">${isMember ? text.memberSave : text.save}</button>
</form>${link(flow.again, common.again)}${link(signIn && `${signIn}?return=${encodeURIComponent(`${flow.path}?code=${code}${query}`)}`, common.signIn)}`;
}

const passwordInput = (label: string): Html => html`<label for="password">${label}</label>
<input id="password" name="password" type="password" autocomplete="new-password" required minlength="8" maxlength="256">`;

/** A failure in a language, as far as the service has a text for it. */
function faultText(text: FlowTexts, language: Language, state: FlowState, failure: Failure): string {
  const { path, message, keyword } = failure;
  const common: Readonly<Record<string, string>> = COMMON[language];
  const fields = (state.end === undefined && state.shown?.fields) || [];
  const label = fields.find(({ name }) => path === `/${name}`)?.label ?? common[path.slice(1)];
  return text.reasons?.[keyword] ?? common[keyword] ?? `${label ?? path.slice(1)} ${message}`.trim();
}
