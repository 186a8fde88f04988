import { STRANGER } from '../../auth/principal.js';
import type { Problem } from '../../errors/problem.js';
import { keyReused } from '../../errors/record-errors.js';
import { html, type Part } from '../../formats/html.js';
import { JSON_TYPE } from '../../http/media-types.js';
import type { JsonObject } from '../../json.js';
import { conflictPage } from './conflict-page.js';
import type { PageForm } from './form-action.js';
import { failuresIn } from './form-fields.js';
import type { FormModel } from './form-model.js';
import { readAs } from './inner-read.js';
import type { PageContent } from './layout.js';
import { formPage } from './record-forms.js';
import { hasSignIn, signInHref } from './site.js';
import { assignmentsOf, bodyOf, jsonPatchOf, recordOf, type Submitted, valuesIn } from './submitted-form.js';

/** The forms that create, change and delete a record. */
export function recordForm(model: FormModel): PageForm {
  const { name, resource, fields, secretPage, removal } = model;
  return {
    before: ({ site, request, method, entered }) =>
      method === 'PATCH' && entered.changed(fields(request, 'update')).length === 0
        ? `${site.prefix}${request.path}?_done=unchanged`
        : undefined,
    bodyOf: async (submitted) => {
      const { method, request } = submitted;
      if (method === 'DELETE') return undefined;
      const own = fields(request, method === 'POST' ? 'create' : 'update');
      if (method === 'POST') return bodyOf(JSON_TYPE, recordOf(await valuesIn(submitted, own, resource)));
      return resource ? jsonPatchOf(resource, submitted, own) : assignmentsOf(submitted, own);
    },
    next: ({ headers, body }, submitted) => {
      const { method, request, site } = submitted;
      if (method === 'DELETE') return `${site.prefix}/${name}?_done=${removal.toLowerCase()}d`;
      if (method === 'PATCH') return `${site.prefix}${request.path}?_done=saved`;
      const one = JSON.parse(body ?? '{}') as JsonObject & { readonly id?: string };
      if (one.id) return secretPage?.(one, submitted) ?? `${site.prefix}/${name}/${one.id}?_done=created`;
      // The response to a repetition has no secret, and no record that has changed since.
      const at = headers.indexOf('Location');
      return `${at < 0 ? site.prefix + request.path.replace(/\/rotate$/, '') : headers[at + 1]}?_done=repeated`;
    },
    failed: (problem, submitted) => {
      const { current } = (problem.more.details ?? {}) as { readonly current?: JsonObject };
      if (problem.status === 412 && current) return conflictPage(model, current, submitted);
      return submitted.method === 'DELETE' ? undefined : formAgain(model, problem, submitted);
    },
  };
}

/** The form again, with what was entered. Its ETag remains, since the record may have changed, and its key until a record has it. */
async function formAgain(model: FormModel, problem: Problem, submitted: Submitted): Promise<PageContent> {
  const { name, resource, fields: fieldsOf } = model;
  const { site, request, entered, method, names } = submitted;
  const { texts, named, was } = entered;
  const failures = failuresIn(problem);
  const notice = failures.length === 0 && noticeOf(problem, submitted);
  const key = problem.code === keyReused.type.code ? undefined : entered.own('_key');
  const again = { texts, named, failures, notice, key };
  if (method === 'POST') return formPage(model, submitted, { ...again, fields: fieldsOf(request, 'create') });
  const fields = fieldsOf(request, 'update').filter((field) => Object.hasOwn(was, field.name));
  const record = await readAs(site, request, `/${name}/:id`, {}, request.params.id);
  if (record && resource) await names.readFor(resource, [record]);
  return formPage(model, submitted, { ...again, fields, state: { etag: entered.own('_etag'), was }, record });
}

/** Why nothing was saved, and the way on, above what was entered. */
function noticeOf({ code, message }: Problem, { site, request }: Submitted): Part {
  if (code === keyReused.type.code)
    return html`<p class="error" role="alert">This form has created a record before. Create another one?</p>`;
  const signIn =
    request.principal === STRANGER &&
    hasSignIn(site) &&
    html` <a href="${signInHref(site, site.home)}" target="_blank" rel="noopener">Sign in in another tab</a>, then submit this form again.`;
  return html`<p class="error" role="alert">Nothing was saved, and what you entered is below. ${message}${signIn}</p>`;
}
