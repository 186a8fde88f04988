import http from 'node:http';
import { pause } from '../support/pause.js';

/** Clients that send one request after the other, each through a connection that it uses as long as it may. */
export interface KeepAliveLoad {
  /** Requests whose response was 201, by the name that each had. */
  readonly confirmed: Set<string>;
  /** Requests that had another response or none; a connection that is refused is none, since nothing was sent. */
  readonly failed: string[];
  /** Connections whose response had `Connection: close`. */
  readonly closed: () => number;
  stop(): Promise<void>;
}

/**
 * Starts the load. A client that gets `Connection: close`, or whose new connection is refused, goes on with the
 * next of `bases`. Each client pauses for `paceMs` after a response.
 */
export function startKeepAlive(bases: readonly string[], clients: number, paceMs = 0): KeepAliveLoad {
  const confirmed = new Set<string>();
  const failed: string[] = [];
  const agents: http.Agent[] = [];
  let closed = 0;
  let stopped = false;

  async function client(at: number): Promise<void> {
    // One connection at a time each, so that it is known whose it is.
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    agents.push(agent);
    for (let n = 0, base = 0; !stopped; ) {
      const name = `${at}-${n}`;
      const outcome = await create(agent, bases[base % bases.length]!, name);
      if (outcome === 'refused') base++;
      else n++;
      if (outcome === 'refused') continue;
      if (outcome.status === 201) confirmed.add(name);
      else failed.push(`${name}: ${outcome.status} ${outcome.why}`);
      if (outcome.closes) {
        closed++;
        base++;
      }
      if (paceMs > 0) await pause(paceMs);
    }
  }
  const running = Array.from({ length: clients }, (_, at) => client(at));
  return {
    confirmed,
    failed,
    closed: () => closed,
    stop: async () => {
      stopped = true;
      await Promise.all(running);
      for (const agent of agents) agent.destroy();
    },
  };
}

interface Outcome {
  /** 0: no response. */
  readonly status: number;
  readonly why: string;
  readonly closes: boolean;
}

function create(agent: http.Agent, base: string, name: string): Promise<Outcome | 'refused'> {
  const body = JSON.stringify({ name });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve) => {
    const lost = (error: Error & { code?: string }) =>
      resolve(error.code === 'ECONNREFUSED' ? 'refused' : { status: 0, why: error.message, closes: true });
    const request = http.request(`${base}/items`, { method: 'POST', agent, headers }, (response) => {
      response.on('error', lost).resume();
      const { statusCode = 0, headers } = response;
      response.on('end', () =>
        resolve({ status: statusCode, why: 'response', closes: headers.connection === 'close' }),
      );
    });
    request.on('error', lost);
    request.end(body);
  });
}
