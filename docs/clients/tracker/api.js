/** The requests of the application, with the session of its user. */
export class Api {
  #permitted = new Map();

  constructor(session) {
    this.session = session;
  }

  /** The JSON of a response, with its cursor of events. Throws an error with the status of the response and a message for people. */
  async get(path) {
    const response = await this.session.fetch(path);
    if (!response.ok) throw await failureOf(response);
    return { ...(await response.json()), cursor: response.headers.get('Events-Cursor') };
  }

  /** The first records of a list. */
  list = async (path) => (await this.get(path)).data;

  /** Writes. With `record`, only if it has not changed meanwhile. */
  async send(method, path, body, record) {
    const headers = record ? { 'If-Match': `"${record._version}"` } : {};
    const response = await this.session.fetch(path, jsonRequest(method, body, headers));
    if (!response.ok) throw await failureOf(response);
    return response.status === 204 ? undefined : response.json();
  }

  /**
   * Whether the access rules permit a write. The batch ends with an operation that fails, so that it changes nothing: without
   * permission, the write before that one fails.
   */
  may(method, path, body) {
    const key = JSON.stringify([method, path, body]);
    const known = this.#permitted.get(key) ?? this.#rehearse({ method, path, ...(body && { body }) });
    this.#permitted.set(key, known);
    known.catch(() => this.#permitted.delete(key));
    return known;
  }

  /** Forgets the permissions, since a membership has changed. */
  forget() {
    this.#permitted.clear();
  }

  async #rehearse(operation) {
    const operations = [operation, { method: 'GET', path: '/issues/none' }];
    const response = await this.session.fetch('/batch', jsonRequest('POST', { operations }));
    const { error } = await response.json();
    if (response.status >= 500 || error?.details?.operation === undefined) throw new Error(error?.message);
    return error.details.operation === 1;
  }
}

const jsonRequest = (method, body, headers = {}) => ({
  method,
  headers: { ...headers, ...(body && { 'Content-Type': 'application/json' }) },
  ...(body && { body: JSON.stringify(body) }),
});

const TEXTS = {
  ACCESS_DENIED: 'You may not do this.',
  FIELDS_DENIED: 'You may not change this field.',
  PRECONDITION_FAILED: 'Another user has changed this meanwhile. Close this form to see it.',
  DUPLICATE: 'There is one already.',
};

async function failureOf(response) {
  const text = await response.text();
  const { errors = [], error = {} } = text.startsWith('{') ? JSON.parse(text) : {};
  const [first] = errors;
  const message =
    TEXTS[error.code] ??
    (first && `${first.path.slice(1)} ${first.message}`) ??
    error.message ??
    (response.status === 404
      ? 'This does not exist, or you may not see it.'
      : `The service responded with ${response.status}.`);
  return Object.assign(new Error(message), { status: response.status });
}
