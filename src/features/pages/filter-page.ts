import type { Resource } from '../../collection/resource.js';
import { type Html, html, type Part } from '../../formats/html.js';
import { LIST_OPERATORS, type Operator, operatorsOf } from '../../list/condition.js';
import { conditionName, escapeName, filterSegments, unescapeName } from '../../list/query-names.js';
import { isRelevance } from '../../list/read-sort.js';
import { type Column, columnsOf } from './columns.js';
import { boxOf, decimal, hidden, optionsOf, YES_OR_NO } from './form-html.js';
import { dayText, fieldLabel } from './labels.js';
import type { Crumb, PageContent } from './layout.js';
import { DAYS, dayAfter, LAST_DAY, type ListView, NAMED_DAYS } from './list-query.js';
import type { Names } from './names.js';
import type { PageOptions } from './pages.js';
import { fewRecords } from './reference-input.js';
import { collectionsFor } from './site.js';
import { nameCondition, titleFields } from './title.js';

const SIGNS: Readonly<Record<Operator, string>> = {
  eq: 'is',
  ne: 'is not',
  lt: 'less than',
  lte: 'at most',
  gt: 'more than',
  gte: 'at least',
  between: 'between',
  in: 'is one of',
  nin: 'is none of',
  has: 'has',
  any: 'has one of',
  prefix: 'begins with',
  contains: 'contains',
  null: 'is empty:',
};

/** The page with a filter for each field by which people select, and what they selected before. `fault`: why no list can be shown. */
export async function filterPage(
  view: ListView,
  shown: Pick<PageOptions, 'site' | 'request'>,
  crumbs: readonly Crumb[],
  fault?: string,
): Promise<PageContent> {
  const controls = await Promise.all(
    columnsOf(view.resource).map(async (column, index) =>
      orEmpty(view, column, await controlOf(view, column, `filter-${index}`, shown)),
    ),
  );
  const present = controls.filter((each) => each !== undefined);
  const names = new Set(['page', 'sort', 'order', ...present.flatMap(({ names }) => names)]);
  const retained = [...view.parameters].filter(([name]) => !names.has(name) && name !== 'limit');
  return {
    title: `Filter and sort ${crumbs.at(-1)!.text.toLowerCase()}`,
    crumbs,
    body: html`${fault !== undefined && html`<p class="error" role="alert">${fault}</p>\n`}<form class="edit" action="${view.path}">
${retained.map(([name, value]) => hidden(name, value))}
${fault === undefined && sortControl(view)}${present.map(({ input }) => input)}
<p><button class="main">Show</button> <a href="${view.path}">Clear all</a></p></form>`,
  };
}

/** The order of the list: by any field that lists can be sorted by, also by those without a column. */
function sortControl(view: ListView): Part {
  const sorts = view.sorts();
  if (sorts.length === 0) return undefined;
  const { resource } = view;
  const labels = new Map(columnsOf(resource).map(({ name, label }) => [name, label]));
  const parameterOf = (field: string) => (isRelevance(resource, field) ? field : escapeName(field));
  const present = sorts.find(({ order }) => order !== undefined);
  const fields = sorts.map(
    ({ field }) => [parameterOf(field), labels.get(field) ?? fieldLabel(field.replaceAll('.', ' '))] as const,
  );
  return html`<div class="two"><div class="field"><label for="sort">Sort by</label><select id="sort" name="sort">${optionsOf(fields, present && parameterOf(present.field))}</select></div>
<div class="field"><label for="order">Direction</label><select id="order" name="order">${optionsOf(Object.entries({ asc: 'rising', desc: 'falling' }), present?.order)}</select></div></div>
`;
}

interface Control {
  /** The parameters that the control sets. */
  readonly names: readonly string[];
  readonly input: Html;
}

/** A control, for an optional field with a box that selects the records without a value. */
function orEmpty({ resource, parameters }: ListView, { name, label }: Column, control?: Control) {
  const { required, properties } = resource.schema;
  const isOptional = name in properties && !required.includes(name);
  if (!control || !isOptional || !operatorsOf(resource).get(name)?.includes('null')) return control;
  const empty = conditionName(name, 'null');
  const box = boxOf(empty, 'true', `${label} is empty`, parameters.get(empty) === 'true');
  return { names: [...control.names, empty], input: html`${control.input}<div class="field">${box}</div>\n` };
}

async function controlOf(
  view: ListView,
  column: Column,
  id: string,
  shown: Pick<PageOptions, 'site' | 'request'>,
): Promise<Control | undefined> {
  const { name, label, kind } = column;
  const operators = operatorsOf(view.resource).get(name) ?? [];
  const can = (operator: Operator) => operators.includes(operator);
  const text = (operator: Operator, type = 'text', parameter = conditionName(name, operator)): Control => ({
    names: [parameter],
    input: html`<div class="field">${inputFor(id, `${label} ${SIGNS[operator]}`, parameter, valuesOf(view, parameter).join(), type)}</div>\n`,
  });
  const several = can('in') ? 'in' : can('any') ? 'any' : undefined;
  if (kind === 'reference') {
    const known = collectionsFor(shown.site, shown.request.principal);
    const other = known.find((each) => each.resource.name === column.to)?.resource;
    if (!other || titleFields(other).length === 0 || !several) return undefined;
    const few = await fewRecords(shown.site, shown.request, other);
    if (few)
      return boxes(
        view,
        column,
        few.map((each) => [each.id, each.name] as const),
      );
    const found = nameCondition(view.resource, name, known);
    return found && text(found.operator, 'search', found.parameter);
  }
  const choices = kind === 'flag' && can('in') ? Object.keys(YES_OR_NO) : column.choices.map(String);
  if (several && choices.length > 0)
    return boxes(
      view,
      column,
      choices.map((each) => [each, YES_OR_NO[each] ?? each] as const),
    );
  if ((kind === 'number' || kind === 'date' || kind === 'time') && can('gte')) return range(column, id, view);
  if (can('contains')) return text('contains', 'search');
  const first = (['prefix', 'has', 'eq'] as const).find(can);
  return first && text(first);
}

const inputFor = (id: string, label: string, name: string, value: string, type: string): Html =>
  html`<label for="${id}">${label}</label><input ${type === 'number' ? decimal() : html`type="${type}"`} id="${id}" name="${name}" value="${value}">`;

/** The values of a condition: of one that is given several times, or of a list between commas. */
const valuesOf = ({ parameters }: ListView, name: string): readonly string[] => {
  const given = parameters.getAll(name);
  return given.length === 1 ? given[0]!.split(',') : given;
};

/** Boxes of which several may be checked; if a value has a comma, which separates the values of a list, one of them. */
function boxes(
  view: ListView,
  { name, label, isList: isMany }: Column,
  options: readonly (readonly [value: string, label: string])[],
): Control {
  const names = isMany ? (['any', 'has'] as const) : (['in', 'eq'] as const);
  const [list, one] = names.map((operator) => conditionName(name, operator)) as [string, string];
  const isSingle = options.some(([value]) => value.includes(','));
  const values = [...(isSingle ? [] : valuesOf(view, list)), ...view.parameters.getAll(one)];
  const all = isSingle ? [['', 'any'] as const, ...options] : options;
  const type = isSingle ? 'radio' : 'checkbox';
  return {
    names: [list, one],
    input: html`<fieldset><legend>${label}</legend><div class="checks">${all.map(([value, text]) => boxOf(isSingle ? one : list, value, text, values.includes(value), type))}</div></fieldset>\n`,
  };
}

/** Two ends; the last day counts as a whole. Days also have words for what people look for most. */
function range({ name, label, kind }: Column, id: string, view: ListView): Control {
  const isDay = kind !== 'number';
  const [from, to] = [conditionName(name, 'gte'), conditionName(name, isDay ? 'lt' : 'lte')];
  const [first = '', until = ''] = [from, to].map((each) => view.parameters.get(each) ?? '');
  const last = isDay && until !== '' ? dayAfter(until, -1) : until;
  const type = isDay ? 'date' : 'number';
  const start = inputFor(`${id}-from`, `${label} from`, from, isDay ? first.slice(0, 10) : first, type);
  const end = inputFor(`${id}-to`, `${label} to`, isDay ? LAST_DAY + to : to, last, type);
  const days = Object.keys(DAYS).map((each) => [each, each] as const);
  return {
    names: [from, to],
    input: html`<div class="field two"><div>${start}</div><div>${end}</div>${isDay && html`<div><label for="${id}-days">${label}: days</label><select id="${id}-days" name="${NAMED_DAYS + from}">${optionsOf([['', 'any'], ...days])}</select></div>`}</div>\n`,
  };
}

/** The conditions of a list, each with a link that removes it. */
export function filterChips(view: ListView, names: Names): Part {
  const { parameters, path, list } = view;
  const filters = [...new Set(parameters.keys())].flatMap((name) => {
    const segments = name.startsWith('filter[') ? filterSegments(name) : undefined;
    return segments
      ? [{ name, says: conditionText(view.resource, segments, parameters.getAll(name), names) }]
      : [];
  });
  const search = list.search === '' ? [] : [{ name: 'search', says: `“${list.search}”` }];
  const chips = [...search, ...filters];
  if (chips.length === 0) return undefined;
  return html`${chips.map(({ name, says }) => html`<span class="chip">${says} <a href="${view.hrefWith({ [name]: null })}" aria-label="Remove the filter: ${says}">✕</a></span>`)}<a href="${path}">Clear all</a>`;
}

function conditionText(
  resource: Resource,
  segments: readonly string[],
  values: readonly string[],
  names: Names,
): string {
  const last = segments.at(-1)!;
  const isOperator = segments.length > 1 && Object.hasOwn(SIGNS, last);
  const path = (isOperator ? segments.slice(0, -1) : segments).map(unescapeName);
  const column = columnsOf(resource).find(({ name }) => name === path[0]);
  const label = [
    column?.label ?? fieldLabel(path[0]!),
    ...path.slice(1).map((each) => fieldLabel(each).toLowerCase()),
  ].join(' ');
  const given =
    isOperator && LIST_OPERATORS.has(last) && values.length === 1 ? values[0]!.split(',') : values;
  const texts = given.map((value) => names.of(value) ?? value);
  const isDay = column?.kind === 'date' || column?.kind === 'time';
  if (isOperator && last === 'in' && column) return `${label}: ${texts.join(' or ')}`;
  if (last === 'null' && texts[0] === 'true') return `${label} is empty`;
  if (isDay && last === 'gte') return `${label}: from ${dayText(values.join())}`;
  if (isDay && last === 'lt') return `${label}: to ${dayText(dayAfter(values.join(), -1))}`;
  return `${label}: ${isOperator && last !== 'eq' ? `${SIGNS[last as Operator]} ` : ''}${texts.join(', ')}`;
}
