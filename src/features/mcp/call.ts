import { gathered } from '../../actions/large-page.js';
import { type Operation, stepOf } from '../../actions/operation-step.js';
import { MAX_PAGE_BYTES } from '../../collection/document.js';
import { problemOf } from '../../db/database-errors.js';
import { invalid, pageExceeds } from '../../errors/input-errors.js';
import { Problem } from '../../errors/problem.js';
import type { Reply } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import type { Router } from '../../http/router.js';
import { isObject, type Json, type JsonObject, member } from '../../json.js';
import { turn } from '../../limits/turn.js';
import { firstFailures } from '../../validation/validation.js';
import type { Tool } from './tools.js';

/** The result of a call: the same value as text and as JSON. */
export interface ToolResult {
  readonly content: { type: 'text'; text: string }[];
  readonly structuredContent: JsonObject;
  readonly isError?: true;
  readonly [member: string]: unknown;
}

/**
 * Runs a tool as the request that it stands for, with the caller of `request`. An error of that request is a result with the
 * error. Rejects with errors of the database and the service, which concern the whole request.
 */
export async function callTool(
  tool: Tool,
  checks: ToolChecks,
  args: JsonObject,
  router: Router,
  request: Request,
): Promise<ToolResult> {
  try {
    checks.require(tool, args);
    const reply = await runOperation(tool.operationOf(args), router, request);
    return await resultOf(tool, args, reply);
  } catch (error) {
    return errorResult(refusalOf(error));
  }
}

/** The problem that a caller can act on. Throws any other error. */
export function refusalOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const problem = problemOf(error);
  if (problem && problem.status < 500) return problem;
  throw error;
}

/** Runs an operation like a request of its own. Rejects with its problem, or 413 for a page that is too large for a result. */
export async function runOperation(operation: Operation, router: Router, request: Request): Promise<Reply> {
  const step = stepOf(operation, router, request);
  const { body } = step.request;
  const bytes = body && Buffer.from(JSON.stringify(body.value));
  const reply = await step.action!.run(bytes ? { ...step.request, body: { ...body!, bytes } } : step.request);
  return gathered(reply, MAX_PAGE_BYTES, pageExceeds);
}

async function resultOf(
  { returns }: Tool,
  { id }: JsonObject,
  { body, headers }: Reply,
): Promise<ToolResult> {
  if (returns === 'deletion') return resultFrom(JSON.stringify({ id: id!, deleted: true }));
  await turn();
  if (returns === 'list') return resultFrom(body!);
  const etag = JSON.stringify(fieldOf(headers, 'ETag'));
  const replayed = fieldOf(headers, 'Idempotency-Replayed') === undefined ? '' : ',"replayed":true';
  return resultFrom(`{"etag":${etag}${replayed},"record":${body}}`);
}

function resultFrom(text: string): ToolResult {
  return { content: [{ type: 'text', text }], structuredContent: JSON.parse(text) as JsonObject };
}

/** The error with its code; after a conflict, with the version and the ETag that the record has now. */
function errorResult({ status, code, message, more: { details, headers = [] } }: Problem): ToolResult {
  const etag = fieldOf(headers, 'ETag');
  const retryAfter = fieldOf(headers, 'Retry-After');
  const current = isObject(details as Json) ? member(details as JsonObject, 'current') : undefined;
  const version = isObject(current) ? current._version : undefined;
  const error = {
    status,
    code,
    message: version === undefined ? message : `${message} Its current version is ${version}.`,
    ...(details === undefined ? {} : { details: details as Json }),
    ...(etag === undefined ? {} : { etag }),
    ...(retryAfter === undefined ? {} : { retryAfter: Number(retryAfter) }),
  };
  return { ...resultFrom(JSON.stringify({ error })), isError: true };
}

function fieldOf(headers: readonly string[], name: string): string | undefined {
  const at = headers.indexOf(name);
  return at < 0 ? undefined : headers[at + 1];
}

/** Checks the arguments of tools, each of which is compiled with its first call. */
export class ToolChecks {
  // The first failure, since a check of all would take as long as the arguments are.
  readonly #compile = firstFailures();
  readonly #compiled = new Map<string, ReturnType<ReturnType<typeof firstFailures>>>();

  /**
   * Sets the defaults of missing arguments. Throws 400 for arguments that a tool does not have. The collection checks the
   * record, and the list its filter.
   */
  require({ name, inputSchema, body }: Tool, args: JsonObject): void {
    const check = this.#compiled.get(name) ?? this.#compile(argumentsOf(inputSchema, body));
    this.#compiled.set(name, check);
    const failures = check(args);
    if (failures.length > 0) throw invalid(failures, 'The arguments of the tool are not valid.');
  }
}

const OBJECT = { type: 'object' };

function argumentsOf({ $defs: _, properties, ...rest }: Tool['inputSchema'], body: Tool['body']): object {
  const others = { ...(body && { [body]: OBJECT }), ...('filter' in properties && { filter: OBJECT }) };
  return { ...rest, properties: { ...properties, ...others } };
}
