import { canSearch, type Resource } from '../../collection/resource.js';
import { type Html, html, type Part } from '../../formats/html.js';
import { comparedColumn, type Operator, OWN_COLUMNS, operatorsOf } from '../../list/condition.js';
import { conditionName, filterSegments, unescapeName } from '../../list/query-names.js';
import type { ListView } from './list-query.js';

const SIGNS: Readonly<Record<Operator, string>> = {
  eq: '=',
  ne: '≠',
  lt: '<',
  lte: '≤',
  gt: '>',
  gte: '≥',
  between: 'between',
  in: 'one of',
  nin: 'none of',
  has: 'has',
  any: 'has one of',
  prefix: 'begins with',
  contains: 'contains',
  null: 'is missing:',
};

/** The form with which a list is searched and filtered, and what it is filtered by now. */
export function filterForm(view: ListView): Part {
  const { resource, list, parameters, path } = view;
  const controls = filterControls(resource, parameters);
  const isSearched = canSearch(resource);
  if (!isSearched && controls.length === 0) return undefined;
  const names = new Set(['page', 'search', ...controls.flatMap(({ names }) => names)]);
  const retained = [...parameters].filter(([name]) => !names.has(name));
  const active = conditionsIn(parameters);
  return html`<form action="${path}" role="search">
${retained.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${isSearched && searchField(resource, list.search)}
${
  controls.length > 0 &&
  html`<details${active.length > 0 && html` open`}><summary>Filters</summary>
<div class="filters">${controls.map(({ input }) => input)}</div>
<p><button>Apply</button></p></details>`
}
</form>
${active.length > 0 && html`<ul class="chips">${active.map((each) => chip(view, each))}</ul>`}`;
}

const searchField = ({ searchable, words }: Resource, text: string): Html =>
  html`<p class="tools"><input type="search" name="search" aria-label="Search in ${[...searchable, ...words].join(', ')}" value="${text}"> <button>Search</button></p>`;

interface Control {
  readonly names: readonly string[];
  readonly input: Html;
}

/** One control for each declared field that lists can be filtered by. */
function filterControls(resource: Resource, parameters: URLSearchParams): Control[] {
  return [...operatorsOf(resource)].flatMap(([field, operators], index) => {
    if (OWN_COLUMNS.has(field)) return [];
    const id = `filter-${index}`;
    const name = (operator: Operator) => conditionName(field, operator);
    const value = (operator: Operator) => parameters.get(name(operator)) ?? '';
    const text = (operator: Operator, says: string): Control => ({
      names: [name(operator)],
      input: html`<div class="field"><label for="${id}">${field} ${says}</label>
<input id="${id}" name="${name(operator)}" value="${value(operator)}"></div>`,
    });
    const { type, isInstant } = comparedColumn(resource, field)!;
    const isDate = isInstant || formatOf(resource, field) === 'date';
    if (operators.includes('gte') && (type === 'double precision' || isDate)) {
      const kind = isDate ? 'date' : 'number';
      const ends = [
        ['gte', 'from'],
        ['lte', 'to'],
      ] as const;
      const inputs = ends.map(
        ([operator, says]) =>
          html`<input type="${kind}"${kind === 'number' && html` step="any"`} name="${name(operator)}" value="${value(operator)}" aria-label="${field} ${says}" placeholder="${says}">`,
      );
      return {
        names: ends.map(([operator]) => name(operator)),
        input: html`<div class="field"><span class="label">${field}</span><div class="two">${inputs}</div></div>`,
      };
    }
    const options = type === 'boolean' ? ['true', 'false'] : choicesOf(resource, field);
    if (options && operators.includes('eq'))
      return {
        names: [name('eq')],
        input: html`<div class="field"><label for="${id}">${field}</label>
<select id="${id}" name="${name('eq')}"><option value="">any</option>${options.map((option) => html`<option${option === value('eq') && html` selected`}>${option}</option>`)}</select></div>`,
      };
    if (operators.includes('has')) return text('has', 'has');
    if (operators.includes('prefix') && !resource.unique.some(({ fields }) => fields.join() === field))
      return text('prefix', 'begins with');
    return operators.includes('eq') ? text('eq', 'is') : [];
  });
}

function formatOf({ schema }: Resource, field: string): string | undefined {
  return ((schema.properties[field] ?? {}) as { readonly format?: string }).format;
}

/** The values of a field with an enumeration of texts. */
function choicesOf({ schema }: Resource, field: string): readonly string[] | undefined {
  const { enum: values } = (schema.properties[field] ?? {}) as { readonly enum?: readonly unknown[] };
  return values?.every((value) => typeof value === 'string') ? (values as string[]) : undefined;
}

interface Condition {
  readonly name: string;
  readonly says: string;
}

function conditionsIn(parameters: URLSearchParams): Condition[] {
  return [...new Set(parameters.keys())].flatMap((name) => {
    const segments = name.startsWith('filter[') ? filterSegments(name) : undefined;
    if (!segments) return [];
    const last = segments.at(-1)!;
    const isOperator = segments.length > 1 && Object.hasOwn(SIGNS, last);
    const path = (isOperator ? segments.slice(0, -1) : segments).map(unescapeName).join(' › ');
    const sign = SIGNS[(isOperator ? last : 'eq') as Operator];
    return { name, says: `${path} ${sign} ${parameters.getAll(name).join(', ')}` };
  });
}

const chip = (view: ListView, { name, says }: Condition): Html =>
  html`<li>${says} <a href="${view.hrefWith({ [name]: null })}" aria-label="Remove the filter: ${says}">remove</a></li>`;
