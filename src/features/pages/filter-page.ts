import type { Resource } from '../../collection/resource.js';
import type { ScopedCollection } from '../../feature.js';
import { type Html, hidden, html, type Part } from '../../formats/html.js';
import { LIST_OPERATORS, type Operator, operatorsOf } from '../../list/condition.js';
import { conditionName, filterName, filterSegments, unescapeName } from '../../list/query-names.js';
import { type Column, type ColumnKind, columnsOf, labelOf } from './columns.js';
import { boxOf, decimal, YES_OR_NO } from './form-html.js';
import type { Caller } from './inner-read.js';
import { dayText, fieldLabel } from './labels.js';
import type { Crumb, PageContent } from './layout.js';
import { DAYS, dayAfter, LAST_DAY, type ListView, NAMED_DAYS, type Sort } from './list-query.js';
import { selectOf } from './list-table.js';
import type { Names } from './names.js';
import { fewRecords } from './reference-input.js';
import { collectionsFor } from './site.js';
import { textPath, titleFields } from './title.js';

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
  null: 'empty:',
};

/** The page with a filter for each field by which people select, and what they selected before. `fault`: why no list can be shown. */
export async function filterPage(
  view: ListView,
  caller: Caller,
  crumbs: readonly Crumb[],
  fault?: string,
): Promise<PageContent> {
  const controls = await Promise.all(
    columnsOf(view.resource).map((column, at) => controlsOf(view, column, `filter-${at}`, caller)),
  );
  const inputs = controls.flat();
  const names = new Set(['page', 'sort', 'order', 'limit', ...inputs.flatMap((each) => each.names)]);
  const retained = [...view.parameters].filter(([name]) => !names.has(name));
  return {
    title: `Filter and sort ${crumbs.at(-1)!.text.toLowerCase()}`,
    crumbs,
    body: html`${fault !== undefined && html`<p class="error" role="alert">${fault}</p>\n`}<form class="edit" action="${view.path}">
${retained.map(([name, value]) => hidden(name, value))}
${fault === undefined && sortControl(view.sorts(), view.resource)}${inputs.map(({ input }) => input)}
<p><button class="main">Show</button> <a href="${view.path}">Clear all</a></p></form>`,
  };
}

/** The order of the list: by any field that lists can be sorted by, also by those without a column. */
function sortControl(sorts: readonly Sort[], resource: Resource): Part {
  if (sorts.length === 0) return undefined;
  const present = sorts.find(({ order }) => order !== undefined);
  const fields = sorts.map(({ name, field }) => [name, labelOf(resource, field)] as const);
  const directions = Object.entries({ asc: 'rising', desc: 'falling' });
  return html`<div class="two"><div class="field">${selectOf('sort', 'sort', 'Sort by', fields, present?.name)}</div>
<div class="field">${selectOf('order', 'order', 'Direction', directions, present?.order)}</div></div>
`;
}

interface Control {
  /** The parameters that the control sets. */
  readonly names: readonly string[];
  readonly input: Html;
}

/** The control of a field, and for an optional one a box that selects the records without a value. */
async function controlsOf(view: ListView, column: Column, id: string, caller: Caller): Promise<Control[]> {
  const { resource, parameters } = view;
  const { name, label } = column;
  const { required, properties } = resource.schema;
  const operators = operatorsOf(resource).get(name) ?? [];
  const control = await controlOf(view, column, id, caller, operators);
  if (!control || !(name in properties) || required.includes(name) || !operators.includes('null'))
    return control ? [control] : [];
  const empty = conditionName(name, 'null');
  const box = boxOf(empty, 'true', `${label} is empty`, parameters.get(empty) === 'true');
  return [control, { names: [empty], input: html`<div class="field">${box}</div>\n` }];
}

async function controlOf(
  view: ListView,
  column: Column,
  id: string,
  caller: Caller,
  own: readonly Operator[],
): Promise<Control | undefined> {
  const { name, label, kind } = column;
  const isMany = own.includes('in') || own.includes('any');
  if (kind === 'reference' && !isMany) return undefined;
  const known = collectionsFor(view.site, caller.principal);
  const options = isMany ? await optionsFor(view, column, caller, known) : [];
  if (options.length > 0) return boxes(view, column, options);
  if (RANGES.includes(kind) && own.includes('gte')) return range(column, id, view);
  const { path = [], operators = [] } = textPath(view.resource, name, known) ?? {};
  const operator = (['contains', 'prefix', 'has', 'eq'] as const).find((each) => operators.includes(each));
  if (!operator) return undefined;
  const parameter = filterName(operator === 'eq' ? path : [...path, operator]);
  const text = valuesOf(view, parameter).join();
  return {
    names: [parameter],
    input: html`<div class="field">${inputFor(id, `${label} ${SIGNS[operator]}`, parameter, text, 'search')}</div>\n`,
  };
}

/** The kinds of fields that people filter by two ends. */
const RANGES: readonly ColumnKind[] = ['number', 'date', 'time'];

/** The values among which a person chooses; none: there are too many, or one has a comma, which separates the values of a list. */
async function optionsFor(
  { site }: ListView,
  { kind, to, choices }: Column,
  caller: Caller,
  known: readonly ScopedCollection[],
): Promise<readonly (readonly [value: string, label: string])[]> {
  if (kind === 'flag') return Object.entries(YES_OR_NO);
  if (kind === 'reference') {
    const other = known.find(({ resource }) => resource.name === to)?.resource;
    const few = other && titleFields(other).length > 0 && (await fewRecords(site, caller, other));
    return few ? few.map(({ id, name }) => [id, name] as const) : [];
  }
  const values = choices.map(String);
  return values.some((each) => each.includes(',')) ? [] : values.map((each) => [each, each]);
}

const inputFor = (id: string, label: string, name: string, value: string, type: string): Html =>
  html`<label for="${id}">${label}</label><input ${type === 'number' ? decimal() : html`type="${type}"`} id="${id}" name="${name}" value="${value}">`;

/** The values of a condition: of one that is given several times, or of a list between commas. */
const valuesOf = ({ parameters }: ListView, name: string): readonly string[] => {
  const given = parameters.getAll(name);
  return given.length === 1 ? given[0]!.split(',') : given;
};

/** Boxes of which several may be checked. */
function boxes(
  view: ListView,
  { name, label, isList }: Column,
  options: readonly (readonly [value: string, label: string])[],
): Control {
  const operators = isList ? ['any', 'has'] : ['in', 'eq'];
  const names = operators.map((operator) => conditionName(name, operator));
  const values = names.flatMap((each) => valuesOf(view, each));
  return {
    names,
    input: html`<fieldset><legend>${label}</legend><div class="checks">${options.map(([value, text]) => boxOf(names[0]!, value, text, values.includes(value)))}</div></fieldset>\n`,
  };
}

/** Two ends; the last day counts as a whole. Days also have words for what people look for most. */
function range({ name, label, kind }: Column, id: string, view: ListView): Control {
  const isDay = kind !== 'number';
  const type = isDay ? 'date' : 'number';
  const [from, to] = [conditionName(name, 'gte'), conditionName(name, isDay ? 'lt' : 'lte')];
  const [first = '', until = ''] = [from, to].map((each) => view.parameters.get(each) ?? '');
  const last = isDay ? dayAfter(until, -1) : until;
  const start = inputFor(`${id}-from`, `${label} from`, from, isDay ? first.slice(0, 10) : first, type);
  const end = inputFor(`${id}-to`, `${label} to`, isDay ? LAST_DAY + to : to, last, type);
  const days = [['', 'any'] as const, ...Object.keys(DAYS).map((each) => [each, each] as const)];
  return {
    names: [from, to],
    input: html`<div class="field two"><div>${start}</div><div>${end}</div>${isDay && html`<div>${selectOf(`${id}-days`, NAMED_DAYS + from, `${label}: days`, days)}</div>`}</div>\n`,
  };
}

/** The conditions of a list, each with a link that removes it. */
export function filterChips(view: ListView, names: Names): Part {
  const { parameters, path, resource } = view;
  const chips = [...new Set(parameters.keys())].flatMap((name) => {
    const segments = name.startsWith('filter[') && filterSegments(name);
    const values = parameters.getAll(name);
    const says =
      name === 'search' ? `“${values[0]}”` : segments && conditionText(resource, segments, values, names);
    return says
      ? html`<span class="chip">${says} <a href="${view.hrefWith({ [name]: null })}" aria-label="Remove the filter: ${says}">✕</a></span>`
      : [];
  });
  return chips.length > 0 && html`${chips}<a href="${path}">Clear all</a>`;
}

function conditionText(
  resource: Resource,
  segments: readonly string[],
  values: readonly string[],
  names: Names,
): string {
  const last = segments.at(-1)!;
  const isOperator = segments.length > 1 && Object.hasOwn(SIGNS, last);
  const [field = '', ...rest] = (isOperator ? segments.slice(0, -1) : segments).map(unescapeName);
  const kind = columnsOf(resource).find(({ name }) => name === field)?.kind;
  const isDay = kind === 'date' || kind === 'time';
  const label = [labelOf(resource, field), ...rest.map((each) => fieldLabel(each).toLowerCase())].join(' ');
  const given =
    isOperator && LIST_OPERATORS.has(last) && values.length === 1 ? values[0]!.split(',') : values;
  if (last === 'null' && given[0] === 'true') return `${label} is empty`;
  if (isDay && last === 'lt') return `${label}: to ${dayText(dayAfter(values.join(), -1))}`;
  const texts = given.map((value) => names.of(value) ?? (isDay ? dayText(value) : value));
  const sign = isOperator ? SIGNS[last as Operator] : '';
  return `${label}: ${sign && `${sign} `}${texts.join(last === 'in' ? ' or ' : ', ')}`;
}
