import type { IncomingMessage } from 'node:http';
import type { Problem } from '../errors/problem.js';
import { prefixOf, VERSIONS, type Version } from '../versions/supported.js';
import { probableVersion } from './api-version.js';
import { render } from './problem-body.js';
import type { Reply } from './reply.js';

/** A 503 for requests that are not examined. It is rendered once for each version. */
export class EarlyReply {
  readonly #replies: ReadonlyMap<Version, Reply>;

  constructor(problem: Problem, publicPrefix: string) {
    this.#replies = new Map(
      VERSIONS.map((version) => {
        const { isAlwaysProblem, ...members } = version.errors;
        const form = { ...members, errorsPath: `${prefixOf(version, publicPrefix)}/errors` };
        return [version, render(problem, '', isAlwaysProblem ? form : undefined)];
      }),
    );
  }

  replyTo(req: IncomingMessage): Reply {
    return this.#replies.get(probableVersion(req))!;
  }
}
