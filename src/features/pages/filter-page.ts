import type { Resource } from '../../collection/resource.js';
import { type Html, html, type Part } from '../../formats/html.js';
import { LIST_OPERATORS, type Operator, operatorsOf } from '../../list/condition.js';
import { conditionName, escapeName, filterSegments, unescapeName } from '../../list/query-names.js';
import { isRelevance } from '../../list/read-sort.js';
import { type Column, columnsOf } from './columns.js';
import { hidden, YES_OR_NO } from './form-html.js';
import { readListAs } from './inner-read.js';
import { dayText, fieldLabel } from './labels.js';
import type { Crumb, PageContent } from './layout.js';
import { DAYS, dayAfter, LAST_DAY, type ListView, NAMED_DAYS } from './list-query.js';
import { Names } from './names.js';
import type { PageOptions } from './pages.js';
import { collectionsFor } from './site.js';
import { nameCondition, nameFields, titleFields } from './title.js';

/** Records of a collection up to which a filter offers all of them by name. */
const MAX_OFFERED = 50;

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
  null: 'is missing:',
};

/** The page with a filter for each field by which people select, and what they selected before. `fault`: why no list can be shown. */
export async function filterPage(
  view: ListView,
  shown: Pick<PageOptions, 'site' | 'request'>,
  crumbs: readonly Crumb[],
  fault?: string,
): Promise<PageContent> {
  const controls = await Promise.all(
    columnsOf(view.resource).map((column, index) => controlOf(view, column, `filter-${index}`, shown)),
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
  const present = sorts.find(({ order }) => order !== undefined);
  return html`<div class="two"><div class="field"><label for="sort">Sort by</label><select id="sort" name="sort">${sorts.map(({ field }) => html`<option value="${isRelevance(resource, field) ? field : escapeName(field)}"${field === present?.field && html` selected`}>${labels.get(field) ?? fieldLabel(field.replaceAll('.', ' '))}</option>`)}</select></div>
<div class="field"><label for="order">Direction</label><select id="order" name="order"><option value="asc">rising</option><option value="desc"${present?.order === 'desc' && html` selected`}>falling</option></select></div></div>
`;
}

interface Control {
  /** The parameters that the control sets. */
  readonly names: readonly string[];
  readonly input: Html;
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
  const parameter = (operator: Operator) => conditionName(name, operator);
  const values = (operator: Operator) => valuesOf(view, parameter(operator));
  const text = (operator: Operator, type = 'text'): Control => ({
    names: [parameter(operator)],
    input: html`<div class="field"><label for="${id}">${label} ${SIGNS[operator]}</label><input type="${type}" id="${id}" name="${parameter(operator)}" value="${values(operator).join()}"></div>\n`,
  });
  if (kind === 'reference') return referenceControl(view, column, id, shown);
  if (kind === 'choice' && (can('in') || can('any')))
    return checks(column, parameter(can('in') ? 'in' : 'any'), parameter(can('in') ? 'eq' : 'has'), view);
  if (kind === 'flag' && can('in'))
    return checks({ ...column, choices: Object.keys(YES_OR_NO) }, parameter('in'), parameter('eq'), view);
  if ((kind === 'number' || kind === 'date' || kind === 'time') && can('gte')) return range(column, id, view);
  if (can('contains')) return text('contains', 'search');
  if (can('prefix')) return text('prefix');
  if (can('has')) return text('has');
  return can('eq') ? text('eq') : undefined;
}

/** The values of a condition: of one that is given several times, or of a list between commas. */
const valuesOf = ({ parameters }: ListView, name: string): readonly string[] => {
  const given = parameters.getAll(name);
  return given.length === 1 ? given[0]!.split(',') : given;
};

/** Boxes of which several may be checked; if a value has a comma, which separates the values of a list, one of them. */
function checks({ label, choices }: Column, list: string, one: string, view: ListView): Control {
  const isList = choices.every((choice) => !String(choice).includes(','));
  const name = isList ? list : one;
  const values = isList ? valuesOf(view, list) : view.parameters.getAll(one);
  const box = (value: string, text: string) =>
    html`<label class="check"><input type="${isList ? 'checkbox' : 'radio'}" name="${name}" value="${value}"${values.includes(value) && html` checked`}> ${text}</label>`;
  return {
    names: [list, one],
    input: html`<fieldset><legend>${label}</legend><div class="checks">${!isList && box('', 'any')}${choices.map((choice) => box(String(choice), YES_OR_NO[String(choice)] ?? String(choice)))}</div></fieldset>\n`,
  };
}

/** Two ends; the last day counts as a whole. Days also have words for what people look for most. */
function range({ name, label, kind }: Column, id: string, view: ListView): Control {
  const from = conditionName(name, 'gte');
  const to = conditionName(name, kind === 'number' ? 'lte' : 'lt');
  const isDay = kind !== 'number';
  const until = view.parameters.get(to) ?? '';
  const last = isDay && until !== '' ? dayAfter(until, -1) : until;
  const type = isDay ? 'date' : 'number';
  const input = (end: string, says: string, value: string, suffix: string) =>
    html`<div><label for="${id}${suffix}">${label} ${says}</label><input type="${type}"${!isDay && html` step="any"`} id="${id}${suffix}" name="${end}" value="${value}"></div>`;
  return {
    names: [from, to],
    input: html`<div class="field two">${input(from, 'from', (view.parameters.get(from) ?? '').slice(0, isDay ? 10 : undefined), '-from')}${input(isDay ? LAST_DAY + to : to, 'to', last, '-to')}${isDay && html`<div><label for="${id}-days">${label}: days</label><select id="${id}-days" name="${NAMED_DAYS + from}"><option value="">any</option>${Object.keys(DAYS).map((days) => html`<option>${days}</option>`)}</select></div>`}</div>\n`,
  };
}

/** All records by name if there are few, otherwise a part of the name where a filter finds it. */
async function referenceControl(
  view: ListView,
  { name, label, to }: Column,
  id: string,
  { site, request }: Pick<PageOptions, 'site' | 'request'>,
): Promise<Control | undefined> {
  const known = collectionsFor(site, request.principal);
  const other = known.find((each) => each.resource.name === to)?.resource;
  const operators = operatorsOf(view.resource).get(name) ?? [];
  const operator = operators.includes('in') ? 'in' : 'any';
  if (!other || titleFields(other).length === 0 || !operators.includes(operator)) return undefined;
  const listed = await readListAs(site, request, `/${to}`, {
    ...nameFields(other),
    limit: String(MAX_OFFERED),
  });
  const parameter = conditionName(name, operator);
  const values = valuesOf(view, parameter);
  if (listed && listed.total <= MAX_OFFERED) {
    const names = new Names(site, request);
    await names.readTitles(other, listed.data);
    return {
      names: [parameter],
      input: html`<fieldset><legend>${label}</legend><div class="checks">${listed.data.map((record) => html`<label class="check"><input type="checkbox" name="${parameter}" value="${String(record.id)}"${values.includes(String(record.id)) && html` checked`}> ${names.shortTitleOf(other, record)}</label>`)}</div></fieldset>\n`,
    };
  }
  const found = nameCondition(view.resource, name, known);
  return (
    found && {
      names: [found.parameter],
      input: html`<div class="field"><label for="${id}">${label} ${SIGNS[found.operator]}</label><input type="search" id="${id}" name="${found.parameter}" value="${view.parameters.get(found.parameter) ?? ''}"></div>\n`,
    }
  );
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
  if (isDay && last === 'gte') return `${label}: from ${dayText(values.join())}`;
  if (isDay && last === 'lt') return `${label}: to ${dayText(dayAfter(values.join(), -1))}`;
  return `${label}: ${isOperator && last !== 'eq' ? `${SIGNS[last as Operator]} ` : ''}${texts.join(', ')}`;
}
