import { STATUS_CODES } from 'node:http';
import type { Problem } from '../problem.js';

/** The response to a problem. `headers` include Content-Type, unless the body is empty. */
export interface Rendered {
  readonly status: number;
  readonly headers: string[];
  readonly body: string;
}

/**
 * Renders a problem; the only place that knows the body shapes. `problemJson` (RFC 9457) is for clients whose Accept
 * names it. A 500 contains `requestId`, by which the log entry can be found.
 */
export function render(problem: Problem, problemJson: boolean, requestId: string): Rendered {
  const { status, more } = problem;
  const headers = more.headers ? [...more.headers, ...NO_STORE] : [...NO_STORE];
  const body = problemJson ? problemDocument(problem, requestId) : textOf(problem, requestId);
  if (body !== '') {
    const type = problemJson
      ? 'application/problem+json'
      : more.shape === 'text'
        ? 'text/plain; charset=utf-8'
        : JSON_TYPE;
    headers.push('Content-Type', type);
  }
  return { status, headers, body };
}

/** Errors are not stored by caches (RFC 9111 section 5.2.2.5), since they may depend on the credential. */
const NO_STORE = ['Cache-Control', 'no-store'];

const JSON_TYPE = 'application/json';

function textOf(problem: Problem, requestId: string): string {
  problem.body ??= document(problem, requestId);
  return problem.body;
}

function document(problem: Problem, requestId: string): string {
  const { code, message, status, more } = problem;
  const details = status === 500 ? { requestId } : more.details;
  switch (more.shape ?? 'envelope') {
    case 'empty':
      return '';
    case 'text':
      return `${message}\n`;
    case 'simple':
      return JSON.stringify({ error: message });
    case 'validation':
      return JSON.stringify({ errors: details, error: { code, message, details } });
    case 'envelope':
      return JSON.stringify({
        error: details === undefined ? { code, message } : { code, message, details },
      });
  }
}

function problemDocument(problem: Problem, requestId: string): string {
  const { status, code, message, more } = problem;
  const extra = more.shape === 'validation' ? { errors: more.details } : { details: more.details };
  const request = status === 500 ? { requestId } : {};
  return JSON.stringify({
    type: 'about:blank',
    title: STATUS_CODES[status],
    status,
    detail: message,
    code,
    ...extra,
    ...request,
  });
}
