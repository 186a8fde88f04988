import { JSON_TYPE } from '../../collection/representation.js';
import type { NotReadyReason } from '../../db/readiness.js';
import type { Reply } from '../../http/reply.js';
import type { Action } from '../../http/router.js';

/** Whether the process is alive: 200. */
export const healthz: Action = { offers: [JSON_TYPE], run: () => healthReply(200, 'alive') };

/** Whether the service can respond to requests: 200, or 503 with the reason. */
export function readyz(obstacle: () => Promise<NotReadyReason>): Action {
  return {
    offers: [JSON_TYPE],
    run: async () => {
      const found = await obstacle();
      return found === undefined ? healthReply(200, 'ready') : healthReply(503, found);
    },
  };
}

export function healthReply(status: number, state: string): Reply {
  const headers = ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'];
  if (status === 503) headers.push('Retry-After', '1');
  return { status, headers, body: `{"status":"${state}"}` };
}
