import type { Failure, Problem } from '../../errors/problem.js';
import { escapeToken, isObject, type Json, type JsonObject } from '../../json.js';
import { conflictPage } from './conflict-page.js';
import type { PageForm, Submitted } from './form-action.js';
import { type FormField, formFields, type Texts } from './form-fields.js';
import { crumbsOf, type FormModel } from './form-model.js';
import type { PageContent } from './layout.js';
import { changeForm, creationForm } from './record-forms.js';
import { bodyOf, recordIn, type SubmittedForm } from './submitted-form.js';

/** The form that creates a record. */
export function creationAction({ name, singular, creation, created }: FormModel): PageForm {
  const fieldsOf = ({ request }: Submitted) => formFields(creation(request));
  return {
    bodyOf: async (submitted) =>
      bodyOf('application/json', await recordIn(submitted.entered, fieldsOf(submitted))),
    next: (reply, submitted) => created(JSON.parse(reply.body!) as JsonObject, submitted),
    failed: (problem, submitted) => {
      const failures = failuresOf(problem);
      if (!failures) return undefined;
      const { site, request, entered, forms } = submitted;
      const fields = fieldsOf(submitted);
      const filled = { id: 'new', texts: withoutSecrets(fields, entered), failures };
      return {
        title: `New ${singular}`,
        crumbs: [...crumbsOf(site, name), { text: 'new' }],
        body: creationForm(site.prefix + request.path, fields, filled, forms),
      };
    },
  };
}

/** The forms that change and delete a record. */
export function changeAction(editable: FormModel): PageForm {
  const { name, change, changesIn } = editable;
  return {
    bodyOf: async ({ method, entered }) =>
      method === 'PATCH' ? changesIn(entered, formFields(change)) : undefined,
    next: (_reply, { method, request, site }) =>
      site.prefix + (method === 'DELETE' ? `/${name}?_done=deleted` : `${request.path}?_done=saved`),
    failed: (problem, submitted) => {
      const current = currentIn(problem);
      if (current) return conflictPage(editable, current, submitted);
      const failures = failuresOf(problem);
      return failures && submitted.method === 'PATCH'
        ? failedChange(editable, failures, submitted)
        : undefined;
    },
  };
}

/** The form again, with what was entered. Its ETag remains: the record may have changed since it was opened. */
function failedChange(
  { name, singular, change }: FormModel,
  failures: readonly Failure[],
  submitted: Submitted,
): PageContent {
  const { site, request, entered, forms } = submitted;
  const fields = formFields(change);
  const shown = fields.filter(({ name }) => name !== '*' || entered.texts.has('*'));
  const filled = { id: 'edit', texts: withoutSecrets(shown, entered), failures };
  const state = { etag: entered.own('_etag'), was: entered.own('_was'), others: entered.own('_others') };
  const action = site.prefix + request.path;
  return {
    title: `Edit ${singular}`,
    crumbs: [...crumbsOf(site, name), { text: request.params.id!, href: action }, { text: 'edit' }],
    body: changeForm(action, shown, filled, state, forms),
  };
}

function withoutSecrets(fields: readonly FormField[], { texts }: SubmittedForm): Texts {
  const secret = new Set(fields.filter(({ kind }) => kind === 'secret').map(({ name }) => name));
  return new Map([...texts].filter(([name]) => !secret.has(name)));
}

/** The present record, if a problem says that it is not the one that the form showed. */
function currentIn({ status, more: { details } }: Problem): JsonObject | undefined {
  if (status !== 412 || !isObject(details as Json)) return undefined;
  const { current } = details as { current?: Json };
  return isObject(current) ? current : undefined;
}

/** The faults of the fields; undefined: the problem is not about fields. */
function failuresOf({ code, message, more }: Problem): readonly Failure[] | undefined {
  if (code === 'VALIDATION_ERROR') return more.details as readonly Failure[];
  const { path, field, fields } = (more.details ?? {}) as {
    readonly path?: string;
    readonly field?: string;
    readonly fields?: readonly string[];
  };
  const names = fields ?? (field === undefined ? [] : [field]);
  const paths = path === undefined ? names.map((name) => `/${escapeToken(name)}`) : [path];
  return paths.length === 0 ? undefined : paths.map((each) => ({ path: each, message, keyword: code }));
}
