import type { Failure } from '../../errors/problem.js';
import { html, htmlDocument, type Part } from '../../formats/html.js';
import { type JsonObject, member } from '../../json.js';
import { type CodeKind, MESSAGES } from './mail-messages.js';
import { type Field, fieldInput, labelOf } from './new-user-form.js';

/** The pages of a flow: their texts, and the paths. */
export interface FlowPages {
  readonly kind: CodeKind;
  /** The page that requests a message, also another one. */
  readonly again?: string;
  readonly title: string;
  /** Of the page that requests a message, and of the one after that. */
  readonly ask?: string;
  readonly sent?: string;
  /** Above the form with the code. */
  readonly text?: string;
  readonly save: string;
  /** After the first one of two codes. */
  readonly half?: string;
  readonly done: string;
}

/** The contents of the form with a code. */
export interface Shown {
  /** Lines about the thing that the code confirms. */
  readonly about?: readonly string[];
  /** Of a new user. */
  readonly fields?: readonly Field[];
  readonly hasPassword?: boolean;
  /** Where a person who has an account signs in first. */
  readonly signIn?: string | undefined;
}

/** The state of a page: a form with a code, or another step. */
export interface FlowState {
  readonly step: 'ask' | 'sent' | 'code' | 'half' | 'done';
  /** The page to which the person returns in the end, and the one in place of it. */
  readonly back: string | undefined;
  readonly next?: string | undefined;
  readonly code?: string;
  /** Undefined: the code has no form. */
  readonly shown?: Shown;
  readonly values?: JsonObject;
  readonly failures?: readonly Failure[];
}

/** The page of a flow. */
export function flowPage(flow: FlowPages, state: FlowState): string {
  const fields = state.shown?.fields ?? [];
  const faults = (state.failures ?? []).map(({ path, message }) => {
    const name = path.slice(1);
    const label = fields.find((field) => field.name === name)?.label ?? labelOf(name);
    return html`<p class="error" role="alert">${`${label} ${message}`.trim()}</p>\n`;
  });
  const body = html`<main class="narrow">\n<h1>${flow.title}</h1>\n${faults}${bodyOf(flow, state)}\n</main>`;
  return htmlDocument(flow.title, body);
}

function bodyOf(flow: FlowPages, { step, back, next, code, shown, values }: FlowState): Part {
  const { again, text } = flow;
  const { page } = MESSAGES[flow.kind];
  const hidden = back !== undefined && html`\n<input type="hidden" name="return" value="${back}">`;
  const query = back === undefined ? '' : `&return=${encodeURIComponent(back)}`;
  const link = (href: string | undefined, label: string): Part =>
    href !== undefined && html`\n<p><a href="${href}">${label}</a></p>`;
  if (step === 'ask')
    return html`<p>${flow.ask}</p>
<form method="post" action="${again}">${hidden}
<label for="email">Email</label>
<input id="email" name="email" type="email" autocomplete="username" required maxlength="254">
<button class="main">Send the message</button>
</form>`;
  if (step !== 'code') {
    const [href, label] =
      step === 'done'
        ? [back ?? next, back === undefined && next !== '/' ? 'Sign in' : 'Continue']
        : [`${page}?code=${query}`, 'Enter the code from the message'];
    return html`<p role="status">${flow[step]}</p>${link(href, label)}`;
  }
  if (!shown) return undefined;
  const { about = [], fields = [], hasPassword, signIn } = shown;
  const password = html`<label for="password">Password, of 8 characters or more</label>
<input id="password" name="password" type="password" autocomplete="new-password" required minlength="8" maxlength="256">`;
  return html`${text !== undefined && html`<p>${text}</p>`}${about.map((line) => html`<p><strong>${line}</strong></p>`)}
<form method="post" action="${page}">${hidden}
<label for="code">Code from the message</label>
<input id="code" name="code" autocomplete="one-time-code" required maxlength="40" value="${code}">
${fields.map((field) => [fieldInput(field, String(member(values!, field.name) ?? '')), '\n'])}${hasPassword && password}
<button class="main">${flow.save}</button>
</form>${link(again, 'Request another message')}${link(signIn && `${signIn}?return=${encodeURIComponent(`${page}?code=${code}${query}`)}`, 'Sign in')}`;
}
