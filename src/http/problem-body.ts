import { STATUS_CODES } from 'node:http';
import type { Problem } from '../errors/problem.js';
import type { ErrorForm } from '../versions/supported.js';
import { JSON_TYPE, PROBLEM_TYPE } from './media-types.js';

/** The response to a problem. `headers` include Content-Type, unless the body is empty. */
export interface Rendered {
  readonly status: number;
  readonly headers: string[];
  readonly body: string;
}

/** How a problem document (RFC 9457) is written. */
export interface DocumentForm extends Pick<ErrorForm, 'requestId' | 'failures'> {
  /** The path below which each code is explained. */
  readonly errorsPath: string;
}

/**
 * Renders a problem; the only place that knows the body shapes. With `form` it is a problem document. Envelopes and problem
 * documents contain `requestId`, by which log entries can be found. It has no character that JSON escapes; empty: the
 * request was not read.
 */
export function render(problem: Problem, requestId: string, form?: DocumentForm): Rendered {
  const { status, more } = problem;
  const headers = more.headers ? [...more.headers, ...NO_STORE] : [...NO_STORE];
  const body = form ? problemDocument(problem, requestId, form) : textOf(problem, requestId);
  if (body !== '') {
    const type = form ? PROBLEM_TYPE : more.shape === 'text' ? 'text/plain; charset=utf-8' : JSON_TYPE;
    headers.push('Content-Type', type);
  }
  return { status, headers, body };
}

/** Errors are not stored by caches (RFC 9111 section 5.2.2.5), since they may depend on the credential. */
const NO_STORE = ['Cache-Control', 'no-store'];

/** Only the request id differs between responses to the same problem, so that the rest is rendered once. */
function textOf(problem: Problem, requestId: string): string {
  const { shape = 'envelope' } = problem.more;
  problem.body ??= document(problem);
  if (shape !== 'envelope' && shape !== 'validation') return problem.body;
  return requestId === '' ? `${problem.body}}}` : `${problem.body},"requestId":"${requestId}"}}`;
}

/** The body; an envelope without its end, which follows the request id. */
function document(problem: Problem): string {
  const { code, message, more } = problem;
  const { details } = more;
  const error = details === undefined ? { code, message } : { code, message, details };
  switch (more.shape ?? 'envelope') {
    case 'empty':
      return '';
    case 'text':
      return `${message}\n`;
    case 'simple':
      return JSON.stringify({ error: message });
    case 'validation':
      return JSON.stringify({ errors: details, error }).slice(0, -2);
    case 'envelope':
      return JSON.stringify({ error }).slice(0, -2);
  }
}

function problemDocument(problem: Problem, requestId: string, form: DocumentForm): string {
  const { status, code, message, more } = problem;
  return JSON.stringify({
    type: `${form.errorsPath}/${code}`,
    title: STATUS_CODES[status],
    status,
    detail: message,
    code,
    [more.shape === 'validation' ? form.failures : 'details']: more.details,
    ...(requestId !== '' && { [form.requestId]: requestId }),
  });
}
