import type { IncomingMessage } from 'node:http';
import type { Problem } from '../errors/problem.js';
import { prefixOf, VERSIONS } from '../versions/supported.js';
import { probableVersion } from './api-version.js';
import { render } from './problem-body.js';
import type { Reply } from './reply.js';

/** Makes the responses to requests that are not examined. A problem is rendered once for each version. */
export function earlyReplies(problem: Problem, publicPrefix: string): (req: IncomingMessage) => Reply {
  const replies = new Map(
    VERSIONS.map((version) => {
      const { isAlwaysProblem, ...members } = version.errors;
      const form = { ...members, errorsPath: `${prefixOf(version, publicPrefix)}/errors` };
      return [version, render(problem, '', isAlwaysProblem ? form : undefined)];
    }),
  );
  return (req) => replies.get(probableVersion(req))!;
}

const HEALTH_CHECK = /^(?:\/api\/v[12])?\/(?:healthz|readyz)(?:\?|$)/;

/** Whether a request target is /healthz or /readyz, which respond under any load and to any Host. */
export function isHealthCheck(target: string): boolean {
  return HEALTH_CHECK.test(target);
}
