import { newDeclaration } from '../../declarations/declaration.js';
import type { Problem } from '../../errors/problem.js';
import { type Html, hidden, html, type Part } from '../../formats/html.js';
import { JSON_TYPE } from '../../http/media-types.js';
import { violationsText } from '../../schema/checked-plan.js';
import { fieldTable, rowsIn, rowsOf, withRows } from './declaration-fields.js';
import {
  DECLARATIONS_PATH,
  type DeclarationFile,
  type DeclarationPlan,
  etagOf,
  formatted,
} from './declaration-files.js';
import { failuresIn } from './form-fields.js';
import { openForm } from './form-html.js';
import { readAs } from './inner-read.js';
import { collectionLabel } from './labels.js';
import type { PageContent, PageContext } from './layout.js';
import type { Page, PageOptions } from './pages.js';
import { mayUse } from './site.js';
import { bodyOf, objectIn, type Submitted } from './submitted-form.js';

/** A link to the page with the declaration of a collection, or of a new one, if the caller may use it. */
export const declarationLink = ({ site, request }: PageOptions, label: string, name = ''): Part =>
  mayUse(site, request, DECLARATIONS_PATH) &&
  html`<a class="button" href="${site.prefix}${DECLARATIONS_PATH}?collection=${name}">${label}</a>`;

/** The page on which an administrator changes a declaration: its form leads to the plan, and that to the change. */
export const declarationPage: Page = {
  content: ({ site, json, forms }) => {
    const file = json as unknown as DeclarationFile;
    const own = { ...file, forms, site };
    const declared = file.text === '' ? {} : objectIn(file.text);
    return {
      ...headOf(own),
      body: html`${applyNote(file)}${declared && editor(own, fieldTable(rowsOf(declared), site))}
<details${!declared && html` open`}><summary>As JSON</summary><div>${editor(own, textInput(file.text))}</div></details>`,
    };
  },
  // Only a text whose plan was shown is applied.
  form: {
    bodyOf: async (submitted) => {
      const { entered } = submitted;
      const { collection } = formIn(submitted);
      const text = await textIn(submitted, collection);
      const applies = entered.texts.has('_apply') && entered.own('_planned') === etagOf(text);
      return bodyOf(JSON_TYPE, { collection, text, applies });
    },
    next: (reply, submitted) => {
      const plan = JSON.parse(reply.body!) as DeclarationPlan;
      const { collection, etag, isApplied } = plan;
      return isApplied
        ? `${submitted.site.prefix}/${collection}?_done=${etag === '' ? 'created' : 'saved'}`
        : planPage(plan, formIn(submitted));
    },
    failed: (problem, submitted) => {
      const { entered, site } = submitted;
      const form = formIn(submitted);
      // The next attempt changes the file as it is now, but a new collection needs another name.
      const { current } = (problem.more.details ?? {}) as { readonly current?: DeclarationFile };
      const own = form.etag === '' ? form : { ...form, etag: current?.etag ?? form.etag };
      const isText = entered.texts.has('_text');
      const inputs = isText ? textInput(entered.own('_text')) : fieldTable(rowsIn(entered), site);
      return { ...headOf(own), body: html`${faultsOf(problem, current)}${editor(own, inputs)}` };
    },
  },
};

/** The text that a form means: as it was entered, or the file with the fields of its table. */
async function textIn({ site, request, entered }: Submitted, collection: string): Promise<string> {
  if (entered.texts.has('_text')) return formatted(entered.own('_text').replaceAll('\r\n', '\n'));
  const file = await readAs(site, request, DECLARATIONS_PATH, { collection });
  const declared = objectIn(String(file?.text)) ?? newDeclaration(collection);
  return formatted(JSON.stringify(withRows(declared, rowsIn(entered))));
}

/** The form of a declaration. */
type FormOf = Pick<DeclarationFile, 'collection' | 'etag'> & Pick<PageContext, 'site' | 'forms'>;

const formIn = ({ site, entered, forms }: Submitted): FormOf => ({
  ...{ collection: entered.own('collection').trim(), etag: entered.own('_etag'), site, forms },
});

function headOf({ collection, etag, site }: FormOf): Pick<PageContent, 'title' | 'crumbs'> {
  if (etag === '') return { title: 'Declare a collection' };
  const list = { text: collectionLabel(collection), href: `${site.prefix}/${collection}` };
  return { title: `Declaration of ${list.text}`, crumbs: [list] };
}

/** A form with the fields or the text of a declaration. */
function editor({ collection, etag, forms, site }: FormOf, inputs: Html, buttons?: Part): Html {
  const name =
    etag === ''
      ? html`<div class="field"><label>Name of the collection <input name="collection" required pattern="[a-z][a-z0-9_]{0,39}" value="${collection}"></label><p class="hint">The segment of its address: a-z, 0-9 and _, such as order_lines.</p></div>`
      : hidden('collection', collection);
  return html`${openForm(site.prefix + DECLARATIONS_PATH, forms, { _etag: etag }, 'edit wide')}${name}
${inputs}<p class="tools">${buttons ?? html`<button class="main">Show the plan</button>`}</p></form>`;
}

const applyNote = ({ applies }: DeclarationFile): Part =>
  !applies &&
  html`<p class="note">This service does not apply declarations: that needs <code>plinth serve --watch</code>, MIGRATE=auto and COLLECTIONS, a folder that it can write. You can see the plan, and download the file.</p>`;

const textInput = (text: string): Html =>
  html`<label class="field">The file<textarea name="_text" rows="18" spellcheck="false" class="code">\n${text}</textarea></label>\n`;

/** The faults of a declaration in words. `current`: the file with which it competes. */
function faultsOf(problem: Problem, current?: DeclarationFile): Html {
  const nameOf = (path: string) => path.replace(/^\/(properties\/)?/, '').replaceAll('/', ', ');
  const faults = failuresIn(problem).map(
    ({ path, message }) => html`<li><b>${nameOf(path)}</b> ${message}</li>`,
  );
  const text = faults.length > 0 ? 'Nothing is changed yet:' : problem.message;
  return html`<div class="error" role="alert"><p>${text}</p>${faults.length > 0 && html`<ul>${faults}</ul>`}${current && html`<details><summary>The file as it is now</summary><pre>${current.text}</pre></details>`}</div>`;
}

/** The steps of a declaration with their locks and losses, the records that violate it, and the button that applies it. */
function planPage(plan: DeclarationPlan, own: FormOf): PageContent {
  const { steps, drops, applies, isRefused, text, collection } = plan;
  const buttons = html`${applies && !isRefused && html`<button class="main" name="_apply" value="1">Apply</button>`}<button>Show the plan again</button>
<a class="button" download="${collection}.json" href="data:application/json;base64,${Buffer.from(text).toString('base64')}">Download ${collection}.json</a>`;
  return {
    ...headOf(own),
    title: `Plan for ${collectionLabel(collection)}`,
    body: html`${isRefused && html`<pre class="error" role="alert">${violationsText({ ...plan, changes: [] } as never)}</pre>`}
${applyNote(plan)}
${steps.length === 0 ? html`<p>The tables need no change.</p>` : html`<ol class="steps">${steps.map(stepItem)}</ol>`}
${drops.length > 0 && html`<h2>Only by <code>plinth migrate --allow-drop</code></h2><ul class="steps">${drops.map(stepItem)}</ul>`}
${editor(own, html`${hidden('_planned', etagOf(text))}${textInput(text)}`, buttons)}`,
  };
}

const stepItem = ({ title, locks, loses, sql }: DeclarationPlan['steps'][number]): Html =>
  html`<li><b>${title}</b><br><span class="dim">Locks ${locks}.${loses !== undefined && ` Loses ${loses}.`}</span>${sql.length > 0 && html`<details><summary>SQL</summary><pre>${sql.join(';\n')};</pre></details>`}</li>\n`;
