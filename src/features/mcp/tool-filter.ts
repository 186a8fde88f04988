import type { Resource } from '../../collection/resource.js';
import type { JsonObject } from '../../json.js';
import { comparedColumn, MAX_VALUES, operatorsOf } from '../../list/condition.js';
import { COMBINATIONS } from '../../list/query-names.js';
import { relatedOf } from '../../list/relations.js';
import { operandSchema, valueSchema } from '../api-docs/described-schema.js';

const CONDITIONS: JsonObject = { type: 'object', minProperties: 1 };
/** `true` and no conditions ask whether there are any records. */
const ANY: JsonObject = { type: ['object', 'boolean'] };
const ALTERNATIVES: JsonObject = {
  type: 'array',
  minItems: 1,
  maxItems: MAX_VALUES,
  items: CONDITIONS,
};

/** Conditions on fields and on related records, and what combines them. */
export const filterOf = (resource: Resource): JsonObject => {
  const fields = fieldsOf(resource);
  const relations = relationConditions(resource, fields);
  const names = Object.entries(fields).map(([name, operators]) => [
    COMBINATIONS.has(name) ? `\\${name}` : name,
    // An array of references has operators, and conditions on its records.
    Object.hasOwn(relations, name)
      ? withMembers(operators as JsonObject, relations[name] as JsonObject)
      : operators!,
  ]);
  return {
    ...relations,
    ...Object.fromEntries(names),
    and: { ...ALTERNATIVES, description: 'All of these conditions apply.' },
    or: { ...ALTERNATIVES, description: 'At least one of these conditions applies.' },
    not: { ...CONDITIONS, description: 'These conditions do not apply together.' },
  };
};

/** Conditions on the record to which a field refers, or on several related ones. */
function relationConditions(resource: Resource, fields: JsonObject): JsonObject {
  const relations = relatedOf(resource).filter(
    ({ name, isMany, field }) => !Object.hasOwn(fields, name) || (isMany && field === name),
  );
  return Object.fromEntries(
    relations.map(({ name, collection, field, isMany }): [string, JsonObject] => {
      const about = `Conditions as those of ${collection}_list`;
      if (!isMany) return [name, { ...CONDITIONS, description: `${about}, on the record of ${field}.` }];
      const of = (quantifier: string, conditions: JsonObject) => ({
        ...conditions,
        description: `${about}: ${quantifier} of the records ${field === undefined ? 'that refer to this one' : `of ${field}`}.`,
      });
      const quantifiers = { some: of('some', ANY), none: of('none', ANY), every: of('every', CONDITIONS) };
      return [name, { ...objectOf(quantifiers), minProperties: 1 }];
    }),
  );
}

/** For each field that lists can be filtered by, an object with one operator or several, or a value to equal. */
function fieldsOf(resource: Resource): JsonObject {
  return Object.fromEntries(
    [...operatorsOf(resource)].map(([field, operators]) => {
      const column = comparedColumn(resource, field)!;
      const members = operators.map((operator) => [operator, operandSchema(operator, column)]);
      const byOperator = { ...objectOf(Object.fromEntries(members)), minProperties: 1 };
      // Not `anyOf`, whose failures would say less.
      const types = operators.includes('eq') ? { type: [valueSchema(column).type!, 'object'] } : {};
      return [field, { ...byOperator, ...types }];
    }),
  );
}

const withMembers = (object: JsonObject, { properties }: JsonObject): JsonObject => ({
  ...object,
  properties: { ...(object.properties as JsonObject), ...(properties as JsonObject) },
});

const objectOf = (properties: JsonObject): JsonObject => ({
  type: 'object',
  properties,
  additionalProperties: false,
});
