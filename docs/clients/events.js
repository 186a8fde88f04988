const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/**
 * Follows events of a service. The connection may end at any time: it is opened again, and no event is missed.
 *
 * `request(path, init)` is `fetch` for paths of the service, with a credential. `types` are whole names, like
 * `items.created`. `conditions` are parameters like `['filter[price][gte]', '10']`, for types of one collection: only changes of
 * records that match before or after the change follow, and `match` in each envelope is `entered`, `changed` or `left`. `after` is a cursor, such as the `Events-Cursor` of a list; without one, only new events follow. `onEvent`
 * receives the envelope of each event, and `onState` a text for people. `onGap` is called when events were deleted before
 * this page received them: it reads the records again, and may return the cursor of that list.
 *
 * Returns a function that ends it.
 */
export function followEvents({ service, request, types, conditions = [], after, onEvent, onState, onGap }) {
  const ended = new AbortController();
  let cursor = after;
  let failures = 0;

  /** The present end of the events at first; later only a check whether the cursor is still valid. */
  async function findCursor() {
    const response = await request(`/events?limit=1&after=${cursor ?? 'now'}`, { signal: ended.signal });
    if (response.status === 410) {
      cursor = await onGap();
      return findCursor();
    }
    const page = await json(response);
    cursor ??= page.meta.cursor;
  }

  /** EventSource cannot send credentials: a ticket stands for them, once, within 30 seconds. */
  async function connect() {
    await findCursor();
    const made = await request('/events/tickets', { method: 'POST', signal: ended.signal });
    const { ticket } = await json(made);
    const query = new URLSearchParams({ ticket, after: cursor, types: types.join() });
    for (const [name, value] of conditions) query.append(name, value);
    const source = new EventSource(`${service}/events?${query}`);
    const receive = (event) => {
      cursor = event.lastEventId || cursor;
      onEvent(JSON.parse(event.data));
    };
    for (const type of types) source.addEventListener(type, receive);
    await new Promise((over) => {
      source.onopen = () => {
        failures = 0;
        onState('Connected.');
      };
      // EventSource would use the ticket again, which is valid once.
      source.onerror = over;
      ended.signal.addEventListener('abort', over);
    });
    source.close();
  }

  async function run() {
    while (!ended.signal.aborted) {
      let pauseMs;
      try {
        await connect();
      } catch (error) {
        if (ended.signal.aborted) return;
        if (error.isFinal) return onState(`Not connected: ${error.message}`);
        pauseMs = error.pauseMs;
      }
      if (ended.signal.aborted) return;
      onState('Reconnecting.');
      pauseMs ??= Math.min(FIRST_PAUSE_MS * 2 ** failures++, LONGEST_PAUSE_MS);
      // Pages that lost the same service do not all return at once.
      await new Promise((over) => setTimeout(over, pauseMs * (0.5 + Math.random() / 2)));
    }
  }

  run();
  return () => ended.abort();
}

/** The JSON of a response. Throws an error that says whether another attempt makes sense, and when. */
async function json(response) {
  if (response.ok) return response.json();
  const { status, headers } = response;
  const retryAfterS = Number(headers.get('Retry-After') ?? Number.NaN);
  throw Object.assign(new Error(`the service responded with ${status}`), {
    isFinal: status < 500 && status !== 429,
    pauseMs: Number.isNaN(retryAfterS) ? undefined : retryAfterS * 1000,
  });
}

/** All types of events of collections. */
export const typesOf = (collections) =>
  collections.flatMap((name) => ['created', 'updated', 'deleted'].map((verb) => `${name}.${verb}`));
