import type { ErrorObject } from 'ajv/dist/2020.js';
import { escapeToken } from '../json.js';
import type { DeclarationFault } from './declaration.js';

/** The errors of a validation of a file, each once. */
export function faultsOf(file: string, errors: readonly ErrorObject[]): DeclarationFault[] {
  const alternatives = errors.filter(({ keyword }) => keyword === 'anyOf').map((each) => each.instancePath);
  const faults = errors
    .filter(({ keyword }) => !['anyOf', 'oneOf', 'if', 'propertyNames'].includes(keyword))
    .filter(({ keyword, instancePath }) => keyword !== 'type' || !alternatives.includes(instancePath))
    .map((error) => ({ file, pointer: pointerOf(error), reason: reasonOf(error) }));
  return [...new Map(faults.map((each) => [`${each.pointer} ${each.reason}`, each])).values()];
}

/** The pointer of a member whose name is the fault leads to the member. */
function pointerOf({ instancePath, params, keyword, propertyName }: ErrorObject): string {
  const name: string | undefined =
    keyword === 'additionalProperties' ? params.additionalProperty : (propertyName ?? params.propertyName);
  return name === undefined ? instancePath : `${instancePath}/${escapeToken(name)}`;
}

function reasonOf({ keyword, params, propertyName, message = 'is not valid' }: ErrorObject): string {
  if (propertyName !== undefined)
    return keyword === 'not' ? 'is a field of the service' : `its name ${message}`;
  if (keyword === 'enum')
    return `must be one of ${params.allowedValues.map((value: unknown) => JSON.stringify(value)).join(', ')}`;
  if (keyword === 'type') return `must be ${[params.type].flat().join(' or ')}`;
  if (keyword === 'const') return `must be ${JSON.stringify(params.allowedValue)}`;
  return keyword === 'additionalProperties' ? 'is not a known option' : message;
}
