import { STRANGER } from '../../auth/principal.js';
import type { Failure, Problem } from '../../errors/problem.js';
import { html, type Part } from '../../formats/html.js';
import { JSON_TYPE } from '../../http/media-types.js';
import { escapeToken, isObject, type Json, type JsonObject } from '../../json.js';
import { conflictPage } from './conflict-page.js';
import type { PageForm } from './form-action.js';
import type { FormModel } from './form-model.js';
import { readAs } from './inner-read.js';
import type { PageContent } from './layout.js';
import { formPage } from './record-forms.js';
import { hasSignIn, signInHref } from './site.js';
import { bodyOf, digestsIn, recordOf, type Submitted, valuesIn } from './submitted-form.js';

/** The forms that create, change and delete a record. */
export function recordForm(model: FormModel): PageForm {
  const { name, creation, changesIn, check, created, removal = 'Delete' } = model;
  return {
    bodyOf: async (submitted) => {
      const { method, request } = submitted;
      if (method !== 'POST') return method === 'PATCH' ? changesIn(submitted) : undefined;
      return bodyOf(JSON_TYPE, recordOf(await valuesIn(submitted, creation(request), check)));
    },
    next: (reply, submitted) => {
      const { method, request, site } = submitted;
      if (method === 'POST') return created(JSON.parse(reply.body!) as JsonObject, submitted);
      const isDeletion = method === 'DELETE';
      return `${site.prefix}${isDeletion ? `/${name}?_done=${removal.toLowerCase()}d` : `${request.path}?_done=saved`}`;
    },
    failed: (problem, submitted) => {
      const current = currentIn(problem);
      if (current) return conflictPage(model, current, submitted);
      return submitted.method === 'DELETE' ? undefined : formAgain(model, problem, submitted);
    },
  };
}

/** The form again, with what was entered. The ETag of a record remains: the record may have changed since it was opened. */
async function formAgain(
  model: FormModel,
  problem: Problem,
  submitted: Submitted,
): Promise<PageContent | undefined> {
  const { name, creation, change, resource } = model;
  const { site, request, entered, method, names } = submitted;
  const { texts, named } = entered;
  const failures = failuresIn(problem);
  const notice = failures ? undefined : noticeOf(problem, submitted);
  if (!failures && !notice) return undefined;
  const again = { texts, named, failures, notice };
  if (method === 'POST') return formPage(model, submitted, { ...again, fields: creation(request) });
  // Without the fields of which the page of a conflict leaves what is stored.
  const shown = Object.entries(digestsIn(entered.own('_was'))).filter(([name]) => !entered.leaves(name));
  const was = Object.fromEntries(shown);
  const state = { _etag: entered.own('_etag'), _was: JSON.stringify(was) };
  const fields = change.filter(({ name }) => Object.hasOwn(was, name));
  const record = await readAs(site, request, `/${name}/:id`, {}, request.params.id);
  if (record && resource) await names.readTitles(resource, [record]);
  return formPage(model, submitted, { ...again, fields, state, record });
}

/** Statuses whose problem says that the form has nothing to change any more. */
const WITHOUT_FORM = [404, 405, 410, 412];

/** Why nothing was saved, and the way on, above what was entered; undefined: the problem is a page of its own. */
function noticeOf({ status, code, message }: Problem, { site, request }: Submitted): Part {
  if (code === 'IDEMPOTENCY_KEY_REUSED')
    return html`<p class="error" role="alert">This form has created a record before. Create another one?</p>`;
  if (WITHOUT_FORM.includes(status)) return undefined;
  const signIn =
    request.principal === STRANGER &&
    hasSignIn(site) &&
    html` <a href="${signInHref(site, site.home)}" target="_blank" rel="noopener">Sign in in another tab</a>, then submit this form again.`;
  return html`<p class="error" role="alert">Nothing was saved, and what you entered is below. ${message}${signIn}</p>`;
}

/** The present record, if a problem says that it is not the one that the form showed. */
function currentIn({ status, more: { details } }: Problem): JsonObject | undefined {
  const { current } = (details ?? {}) as { readonly current?: Json };
  return status === 412 && isObject(current) ? current : undefined;
}

/** The faults of the fields; undefined: the problem is not about fields. */
export function failuresIn({ code, message, more }: Problem): readonly Failure[] | undefined {
  if (code === 'VALIDATION_ERROR') return more.details as readonly Failure[];
  const {
    path,
    field,
    fields = [field],
  } = (more.details ?? {}) as {
    readonly [name in 'path' | 'field']?: string;
  } & { readonly fields?: readonly string[] };
  const named = fields.flatMap((name) => (name === undefined ? [] : `/${escapeToken(name)}`));
  const paths = path === undefined ? named : [path];
  return paths.length === 0 ? undefined : paths.map((each) => ({ path: each, message, keyword: code }));
}
