import type { Tail } from '../events/follower.js';
import type { Endpoint, Route } from '../http/router.js';

/** Routes whose writes wake those who follow the events: told once the write is committed, and not before. */
export function toldTo(tail: Tail, routes: readonly Route[]): Route[] {
  return routes.map(({ path, actions }) => ({
    path,
    actions: Object.fromEntries(
      Object.entries(actions).map(([method, action]) => [
        method,
        method === 'GET' ? action : told(tail, action),
      ]),
    ),
  }));
}

function told(tail: Tail, action: Endpoint): Endpoint {
  return {
    ...action,
    run: async (request) => {
      const reply = await action.run(request);
      // What is part of a batch is not committed yet.
      if (!request.run) tail.wrote();
      return reply;
    },
  };
}
