import { newDeclaration } from '../../declarations/declaration.js';
import type { Problem } from '../../errors/problem.js';
import { type Html, hidden, html, type Part } from '../../formats/html.js';
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

/** The address of the page with the declaration of a collection; without a name, of the page for a new one. */
const declarationHref = (prefix: string, name?: string): string =>
  `${prefix}${DECLARATIONS_PATH}${name === undefined ? '' : `?collection=${name}`}`;

/** A link to the page with a declaration, if the caller may use it. */
export const declarationLink = ({ site, request }: PageOptions, label: string, name?: string): Part =>
  mayUse(site, request, DECLARATIONS_PATH) &&
  html`<a class="button" href="${declarationHref(site.prefix, name)}">${label}</a>`;

/** The page on which an administrator changes a declaration: its form leads to the plan, and that to the change. */
export const declarationPage: Page = {
  content: ({ site, json, forms }) => {
    const file = json as unknown as DeclarationFile;
    const declared = objectIn(file.text);
    const own = { ...file, forms, site };
    const isOther = declared === undefined && file.text !== '';
    return {
      ...headOf(own),
      tools: !file.applies && file.text !== '' && fileLink(file),
      body: html`${applyNote(file)}${!isOther && editor(own, fieldTable(rowsOf(declared ?? {}), site))}
<details${isOther && html` open`}><summary>As JSON</summary><div>${editor(own, textInput(file.text))}</div></details>`,
    };
  },
  // Only a text whose plan was shown is applied.
  form: {
    bodyOf: async (submitted) => {
      const { entered } = submitted;
      const text = await textIn(submitted);
      const applies = entered.texts.has('_apply') && entered.own('_planned') === etagOf(text);
      return bodyOf('application/json', { collection: stateOf(submitted).collection, text, applies });
    },
    next: (reply, submitted) => {
      const plan = JSON.parse(reply.body!) as DeclarationPlan;
      const { collection, etag, isApplied } = plan;
      return isApplied
        ? `${submitted.site.prefix}/${collection}?_done=${etag === '' ? 'created' : 'saved'}`
        : planPage(plan, stateOf(submitted));
    },
    failed: (problem, submitted) => {
      const { entered, site } = submitted;
      const own = stateOf(submitted);
      const isText = entered.texts.has('_text');
      const inputs = isText ? textInput(entered.own('_text')) : fieldTable(rowsIn(entered), site);
      return { ...headOf(own), body: html`${faultsOf(problem, own)}${editor(own, inputs)}` };
    },
  },
};

/** The text that a form means: as it was entered, or the file with the fields of its table. */
async function textIn(submitted: Submitted): Promise<string> {
  const { site, request, entered } = submitted;
  if (entered.texts.has('_text')) return formatted(entered.own('_text').replaceAll('\r\n', '\n'));
  const { collection } = stateOf(submitted);
  const file = await readAs(site, request, DECLARATIONS_PATH, { collection });
  const declared = objectIn(String(file?.text)) ?? newDeclaration(collection);
  return formatted(JSON.stringify(withRows(declared, rowsIn(entered))));
}

/** The state of a form of a declaration. */
type FormOf = Pick<DeclarationFile, 'collection' | 'etag'> & Pick<PageContext, 'site' | 'forms'>;

const stateOf = ({ site, entered, forms }: Submitted): FormOf => ({
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
  return html`${openForm(declarationHref(site.prefix), forms, { _etag: etag }, 'edit wide')}${name}
${inputs}<p class="tools">${buttons ?? html`<button class="main">Show the plan</button>`}</p></form>`;
}

const fileLink = ({ collection, text }: DeclarationFile): Html =>
  html`<a class="button" download="${collection}.json" href="data:application/json;base64,${Buffer.from(text).toString('base64')}">Download ${collection}.json</a>`;

const applyNote = ({ applies }: DeclarationFile): Part =>
  !applies &&
  html`<p class="note">This service does not apply declarations: that needs <code>plinth serve --watch</code>, MIGRATE=auto and COLLECTIONS, a folder that it can write. You can see the plan, and download the file.</p>`;

const textInput = (text: string): Html =>
  html`<label class="field">The file<textarea name="_text" rows="18" spellcheck="false" class="code">\n${text}</textarea></label>\n`;

/** The faults of a declaration in words. */
function faultsOf(problem: Problem, { collection, site }: FormOf): Html {
  const failures = failuresIn(problem);
  if (failures.length === 0)
    return html`<p class="error" role="alert">${problem.message} <a href="${declarationHref(site.prefix, collection)}" target="_blank" rel="noopener">The file as it is now</a></p>`;
  const nameOf = (path: string) => path.replace(/^\/(properties\/)?/, '').replaceAll('/', ', ');
  return html`<div class="error" role="alert"><p>Nothing is changed yet:</p><ul>${failures.map(({ path, message }) => html`<li><b>${nameOf(path)}</b> ${message}</li>`)}</ul></div>`;
}

/** The steps of a declaration with their locks and losses, the records that violate it, and the button that applies it. */
function planPage(plan: DeclarationPlan, own: FormOf): PageContent {
  const { steps, applies, isRefused, text, collection } = plan;
  const drops = plan.drops.filter(({ loses }) => loses !== undefined);
  const found = plan.violations.some(({ violating }) => violating > 0);
  const buttons = html`${applies && !isRefused && html`<button class="main" name="_apply" value="1">Apply</button>`}<button>Show the plan again</button>
${fileLink(plan)}`;
  return {
    ...headOf(own),
    title: `Plan for ${collectionLabel(collection)}`,
    body: html`${found && html`<pre class="error" role="alert">${violationsText({ ...plan, changes: [] } as never)}</pre>`}
${applyNote(plan)}
${steps.length === 0 ? html`<p>The tables need no change.</p>` : html`<ol class="steps">${steps.map(stepItem)}</ol>`}
${drops.length > 0 && html`<h2>Only by <code>plinth migrate --allow-drop</code></h2><ul class="steps">${drops.map(stepItem)}</ul>`}
${editor(own, html`${hidden('_planned', etagOf(text))}${textInput(text)}`, buttons)}`,
  };
}

const stepItem = ({ title, locks, loses, sql }: DeclarationPlan['steps'][number]): Html =>
  html`<li><b>${title}</b><br><span class="dim">Locks ${locks}.${loses !== undefined && ` Loses ${loses}.`}</span>${sql.length > 0 && html`<details><summary>SQL</summary><pre>${sql.join(';\n')};</pre></details>`}</li>\n`;
