import type { FeedFollower } from '../events/follower.js';
import type { Endpoint, Route } from '../http/router.js';

/** Routes whose writes wake those who follow the events: told once the write is committed, and not before. */
export function notifyFeed(follower: FeedFollower, routes: readonly Route[]): Route[] {
  return routes.map(({ path, actions }) => ({
    path,
    actions: Object.fromEntries(
      Object.entries(actions).map(([method, action]) => [
        method,
        method === 'GET' ? action : told(follower, action),
      ]),
    ),
  }));
}

function told(follower: FeedFollower, action: Endpoint): Endpoint {
  return {
    ...action,
    run: async (request) => {
      const reply = await action.run(request);
      // What is part of a batch is not committed yet.
      if (!request.run) follower.wrote();
      return reply;
    },
  };
}
