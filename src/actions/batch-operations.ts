import { invalid, invalidBody } from '../errors/input-errors.js';
import type { Failure } from '../errors/problem.js';
import { METHODS } from '../http/router.js';
import { escapeToken, isObject, type Json, type JsonObject } from '../json.js';
import type { Operation } from './operation-step.js';

const MAX_OPERATIONS = 100;

/** The operations in the body of a batch. Throws 400 with every failure. */
export function readOperations(value: Json | undefined): Operation[] {
  if (value === undefined) throw invalidBody('The body is empty.', 'type');
  const list = isObject(value) ? value.operations : value;
  if (!Array.isArray(list))
    throw invalid([
      failure(
        '',
        'must be an array of operations, or {"operations": [...]}, each like {"method": "PATCH", "path": "/<collection>/<id>", "body": {...}}',
        'type',
      ),
    ]);
  if (list.length === 0) throw invalid([failure('', 'must have at least one operation', 'minItems')]);
  if (list.length > MAX_OPERATIONS)
    throw invalid([failure('', `must not have more than ${MAX_OPERATIONS} operations`, 'maxItems')]);
  const at = isObject(value) ? '/operations/' : '/';
  const failures = list.flatMap((operation, index) => failuresOf(operation, `${at}${index}`));
  if (failures.length > 0) throw invalid(failures);
  return list.map((operation) => {
    const { method, path, headers, body } = operation as JsonObject;
    const fields = Object.entries((headers ?? {}) as Record<string, string>).map(([name, field]) => [
      name.toLowerCase(),
      field,
    ]);
    return { method: method as string, path: path as string, headers: Object.fromEntries(fields), body };
  });
}

const MEMBERS = ['method', 'path', 'headers', 'body'];

function failuresOf(operation: Json, at: string): Failure[] {
  if (!isObject(operation)) return [failure(at, 'must be an object', 'type')];
  const { method, path, headers = {} } = operation;
  const failures: Failure[] = [];
  if (!METHODS.includes(method as string))
    failures.push(failure(`${at}/method`, `must be one of ${METHODS.join(', ')}`, 'enum'));
  if (typeof path !== 'string' || !path.startsWith('/'))
    failures.push(
      failure(`${at}/path`, 'must be a path with a leading slash, like /<collection>/<id>', 'format'),
    );
  const areFields = isObject(headers) && Object.values(headers).every((field) => typeof field === 'string');
  if (!areFields) failures.push(failure(`${at}/headers`, 'must be an object of strings', 'type'));
  else if (Object.keys(headers).some((name) => name.toLowerCase() === 'idempotency-key')) {
    failures.push(failure(`${at}/headers`, 'an Idempotency-Key is for the whole batch', 'not'));
  }
  for (const name of Object.keys(operation)) {
    if (!MEMBERS.includes(name))
      failures.push(
        failure(
          `${at}/${escapeToken(name)}`,
          `is not a known member: there are ${MEMBERS.join(', ')}`,
          'additionalProperties',
        ),
      );
  }
  return failures;
}

function failure(path: string, message: string, keyword: string): Failure {
  return { path, message, keyword };
}
