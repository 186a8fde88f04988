import type { Route } from '../../src/http/router.js';
import { requiring } from './requiring.js';
import type { TestService } from './service.js';
import { until } from './until.js';

/** A request as it is sent. */
export const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

/** A route that responds when the test says so, and how many requests wait there. */
export function gate() {
  const waiting: (() => void)[] = [];
  const route: Route = {
    path: '/gate',
    actions: {
      GET: requiring('nothing', {
        run: async () => {
          await new Promise<void>((open) => waiting.push(open));
          return { status: 204, headers: [] };
        },
      }),
    },
  };
  return {
    routes: [route],
    waiting,
    /** Resolves once that many requests are in flight, to what settles with their responses. */
    occupy: async (service: TestService, count = 1) => {
      const responses = Promise.all(Array.from({ length: count }, () => service.send('GET', '/gate')));
      await until('they are in flight', () => waiting.length, count);
      return { responses };
    },
    open: () => {
      for (const open of waiting.splice(0)) open();
    },
  };
}
