import type { ErrorObject } from 'ajv/dist/2020.js';
import { escapeToken } from '../json.js';
import type { DeclarationFault } from './declaration.js';

/** The errors of a validation of a file, each once. */
export function faultsOf(file: string, errors: readonly ErrorObject[]): DeclarationFault[] {
  const seen = new Set<string>();
  return withoutOtherTypes(errors).flatMap((error) => {
    const fault = { file, pointer: pointerOf(error), reason: reasonOf(error) };
    const key = `${fault.pointer} ${fault.reason}`;
    if (['anyOf', 'oneOf', 'if', 'propertyNames'].includes(error.keyword) || seen.has(key)) return [];
    seen.add(key);
    return [fault];
  });
}

/**
 * Errors of a value that may have several forms, without the types of the forms that it has not; of a value that has the type of
 * none, one error with all types.
 */
function withoutOtherTypes(errors: readonly ErrorObject[]): ErrorObject[] {
  const chosen = new Set(errors.filter(({ keyword }) => FORMS.has(keyword)).map((each) => each.instancePath));
  const isType = ({ keyword, instancePath }: ErrorObject) => keyword === 'type' && chosen.has(instancePath);
  return errors.flatMap((error) => {
    if (!isType(error)) return [error];
    const path = error.instancePath;
    const hasForm = errors.some(
      (each) => !FORMS.has(each.keyword) && !isType(each) && `${each.instancePath}/`.startsWith(`${path}/`),
    );
    const types = errors.filter((each) => isType(each) && each.instancePath === path);
    if (hasForm || types[0] !== error) return [];
    return [{ ...error, message: `must be ${types.map(({ params }) => params.type).join(' or ')}` }];
  });
}

const FORMS: ReadonlySet<string> = new Set(['anyOf', 'oneOf']);

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
  if (keyword === 'type' && Array.isArray(params.type)) return `must be ${params.type.join(' or ')}`;
  if (keyword === 'const') return `must be ${JSON.stringify(params.allowedValue)}`;
  return keyword === 'additionalProperties' ? 'is not a known option' : message;
}
