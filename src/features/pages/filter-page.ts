import { canSearch } from '../../collection/resource.js';
import type { Problem } from '../../errors/problem.js';
import { html, type Part } from '../../formats/html.js';
import { LIST_OPERATORS, type Operator, operatorsOf } from '../../list/condition.js';
import { conditionName, filterName, filterSegments, unescapeName } from '../../list/query-names.js';
import { type Column, type ColumnKind, columnOf, columnsOf, labelOf, undeclared } from './columns.js';
import type { FieldKind, FormField, Options } from './form-fields.js';
import { inputOf, YES_OR_NO } from './form-html.js';
import type { Caller } from './inner-read.js';
import { dayText, fieldLabel, wordsOf } from './labels.js';
import type { PageContent } from './layout.js';
import { DAYS, dayAfter, LAST_DAY, type ListView, NAMED_DAYS } from './list-query.js';
import type { Names } from './names.js';
import { fewRecords } from './reference-input.js';
import { collectionsFor, type Site } from './site.js';
import { type TextPath, textPath } from './title.js';

/** The words between the label of a field and the values of a condition. */
const SIGNS: Readonly<Record<Operator, string>> = {
  eq: '',
  ne: 'not',
  lt: 'less than',
  lte: 'to',
  gt: 'more than',
  gte: 'from',
  between: 'between',
  in: '',
  nin: 'none of',
  has: 'has',
  any: 'has one of',
  prefix: 'begins with',
  contains: 'contains',
  null: 'is empty',
};

/** The form of a list's filters, as they were before. `fault`: why there is no list; a faulty parameter without a field is left out. */
export async function filterPage(view: ListView, caller: Caller, fault?: Problem): Promise<PageContent> {
  const columns = await Promise.all(columnsOf(view.resource).map((each) => fieldsFor(view, each, caller)));
  const { parameter = '' } = (fault?.more.details ?? {}) as { readonly parameter?: string };
  const search = canSearch(view.resource) ? [fieldOf('search', 'Search', 'text')] : [];
  const rows = [search, orderFields(view), ...columns];
  const fields = rows.flat();
  const texts = new Map(fields.map((field) => [field.name, textsIn(field, view)]));
  const inputs = rows.map((row) => row.map((field) => inputOf(field, { id: 'filter', texts })));
  return {
    title: `Filter and sort ${wordsOf(view.resource.name)}`,
    body: html`${fault && html`<p class="error" role="alert">${fault.message}</p>\n`}<form class="edit" action="${view.path}">
${view.without('page', parameter, ...fields.flatMap(parametersOf))}
${inputs.map((row) => (row.length > 1 ? html`<div class="two">${row}</div>` : row))}
<p><button class="main">Show</button> <a href="${view.path}">Clear all</a></p></form>`,
  };
}

/** A field of this form, which has no rules of its own. */
const fieldOf = (name: string, label: string, kind: FieldKind, options?: Options): FormField => ({
  ...{ ...undeclared(name), path: [name], schema: {}, isRequired: false },
  ...{ label, kind, options },
});

/** The order of the list: by any field that lists can be sorted by, also by those without a column. */
function orderFields(view: ListView): FormField[] {
  const sorts = view.sortable.map(({ name, field }) => [name, labelOf(view.resource, field)] as const);
  const directions = Object.entries({ asc: 'rising', desc: 'falling' });
  if (sorts.length === 0) return [];
  return [fieldOf('sort', 'Sort by', 'choice', sorts), fieldOf('order', 'Direction', 'choice', directions)];
}

/** The kinds of fields that people filter by two ends, and the kinds of these. */
const ENDS: Readonly<Partial<Record<ColumnKind, FieldKind>>> = {
  number: 'number',
  date: 'date',
  time: 'date',
};

/** The fields for a column: choices, two ends or a text, and for an optional one, whether records have a value. */
async function fieldsFor(view: ListView, column: Column, caller: Caller): Promise<FormField[]> {
  const { resource, site } = view;
  const { name, label, kind } = column;
  const own = operatorsOf(resource).get(name) ?? [];
  if (own.length === 0) return [];
  const known = collectionsFor(site, caller.principal);
  const operator = (['in', 'any'] as const).find((each) => own.includes(each));
  const options = operator ? await optionsFor(site, column, caller) : [];
  const choice = { ...fieldOf(conditionName(name, operator), label, 'choice', options), isList: true };
  const end = own.includes('gte') ? ENDS[kind] : undefined;
  const compared = end ? endsOf(column, end) : textField(label, textPath(resource, name, known));
  const fields = options.length > 0 ? [choice] : compared;
  const { required, properties } = resource.schema;
  const isOptional = name in properties && !required.includes(name) && own.includes('null');
  const empty = fieldOf(conditionName(name, 'null'), `${label} is empty`, 'flag');
  return fields.length > 0 && isOptional ? [...fields, empty] : fields;
}

/** The values among which a person chooses; none: there are too many, or one has a comma, which separates the values of a list. */
async function optionsFor(site: Site, { kind, to, choices }: Column, caller: Caller): Promise<Options> {
  if (kind === 'flag') return Object.entries(YES_OR_NO);
  if (kind === 'reference') return fewRecords(site, caller, to);
  const values = choices.map(String);
  return values.some((each) => each.includes(',')) ? [] : values.map((each) => [each, each]);
}

/** Two ends; the last day counts as a whole. Days also have words for what people look for most. */
function endsOf({ name, label }: Column, kind: FieldKind): FormField[] {
  const from = conditionName(name, 'gte');
  const until = kind === 'date' ? LAST_DAY + conditionName(name, 'lt') : conditionName(name, 'lte');
  const ends = [fieldOf(from, `${label} from`, kind), fieldOf(until, `${label} to`, kind)];
  const days = Object.keys(DAYS).map((each) => [each, each] as const);
  return kind === 'date' ? [...ends, fieldOf(NAMED_DAYS + from, `${label}: days`, 'choice', days)] : ends;
}

/** A text that the values have, by the operator that finds most; none: no filter finds them. */
function textField(label: string, { path = [], operators = [] }: Partial<TextPath> = {}): FormField[] {
  const operator = (['contains', 'prefix', 'has', 'eq'] as const).find((each) => operators.includes(each));
  if (!operator) return [];
  const name = filterName(operator === 'eq' ? path : [...path, operator]);
  return [fieldOf(name, `${label} ${SIGNS[operator]}`.trim(), 'text')];
}

/** The parameters of the list for which a field stands: its own, and one by which a link selects a single value. */
const parametersOf = ({ name }: FormField): readonly string[] => {
  const own = name.replace(LAST_DAY, '');
  return [...new Set([own, own.replace(/\[in\]$/, '').replace(/\[any\]$/, '[has]')])];
};

/** The texts of a field in a list. */
function textsIn(field: FormField, { parameters }: ListView): readonly string[] {
  const given = parametersOf(field).flatMap((each) => parameters.getAll(each));
  if (field.isList) return given.flatMap((each) => each.split(','));
  if (field.name.startsWith(LAST_DAY)) return given.map((each) => dayAfter(each, -1));
  return field.kind === 'date' ? given.map((each) => each.slice(0, 10)) : given;
}

/** The conditions of a list, each with a link that removes it. */
export async function filterChips(view: ListView, names: Names): Promise<Part> {
  const { parameters, path } = view;
  const chips = [...new Set(parameters.keys())].map(async (name) => {
    const says = await conditionText(view, name, names);
    return says
      ? html`<span class="chip">${says} <a href="${view.hrefWith({ [name]: null })}" aria-label="Remove the filter: ${says}">✕</a></span>`
      : [];
  });
  const shown = (await Promise.all(chips)).flat();
  return shown.length > 0 && html`${shown}<a href="${path}">Clear all</a>`;
}

/** A condition of a list in words; undefined: the parameter is none. */
async function conditionText({ parameters, resource }: ListView, name: string, names: Names) {
  const values = parameters.getAll(name);
  if (name === 'search') return `“${values[0]}”`;
  const segments = name.startsWith('filter[') && filterSegments(name);
  if (!segments) return undefined;
  const last = segments.at(-1)!;
  const operator = segments.length > 1 && Object.hasOwn(SIGNS, last) ? (last as Operator) : undefined;
  const [field = '', ...rest] = (operator ? segments.slice(0, -1) : segments).map(unescapeName);
  const label = [labelOf(resource, field), ...rest.map((each) => fieldLabel(each).toLowerCase())].join(' ');
  if (operator === 'null') return `${label} is ${values[0] === 'true' ? '' : 'not '}empty`;
  const { kind = 'json', to } = columnOf(resource, field) ?? {};
  const isDay = ENDS[kind] === 'date';
  const isEnd = isDay && operator === 'lt';
  const given = LIST_OPERATORS.has(last) ? values.join().split(',') : values;
  if (to !== undefined) await names.read(to, given);
  const texts = given.map(
    (value) => names.of(value) ?? (isDay ? dayText(isEnd ? dayAfter(value, -1) : value) : value),
  );
  const sign = operator && SIGNS[isEnd ? 'lte' : operator];
  return `${label}: ${sign ? `${sign} ` : ''}${texts.join(operator === 'in' ? ' or ' : ', ')}`;
}
