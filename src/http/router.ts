import FindMyWay from 'find-my-way';
import { badRequest, methodNotAllowed, noSuchPath, notAcceptable } from '../errors.js';
import type { Requirement } from '../principal.js';
import type { Problem } from '../problem.js';
import { negotiate } from './content-negotiation.js';
import type { Reply } from './reply.js';
import type { Request } from './request.js';

/** Bytes of a request target. */
export const MAX_TARGET = 8192;

/** What one method does on one resource. */
export interface Action {
  readonly run: (request: Request) => Promise<Reply> | Reply;
  /** Throws the 403 that the caller's scopes and the path alone do not decide. Changes and locks nothing. */
  readonly authorize?: (request: Request) => Promise<void> | void;
  /**
   * Work that is too slow for a transaction and precedes it; undefined when there is none. Resolves to the request
   * to run. Throws what `run` throws of an invalid body.
   */
  readonly prepare?: (request: Request) => (() => Promise<Request>) | undefined;
  /** Media types of its answer, the default first; more than one are negotiated. */
  readonly offers?: readonly string[];
  /** Media types of the body it reads; none: a body is left unread. */
  readonly accepts?: readonly string[];
}

/** An action and who may run it. */
export interface Endpoint extends Action {
  readonly requires: Requirement;
  /** Answers in maintenance as well, and counts for no limit. */
  readonly alwaysAvailable?: boolean;
}

/** A path with its actions by method; HEAD and OPTIONS follow from the others. */
export interface Route {
  readonly path: string;
  readonly actions: Readonly<Record<string, Endpoint>>;
}

/** A resource as it was found: its actions, and the Allow field that goes with them. */
export interface Match {
  /** The template that the path fits: `/users/:id`. */
  readonly template: string;
  readonly actions: ReadonlyMap<string, Endpoint>;
  readonly allow: string;
  /** Accept-Post and Accept-Patch of an OPTIONS answer (RFC 5789 section 3.1). */
  readonly acceptFields: readonly string[];
  /** What a method that there is not is answered. */
  readonly notAllowed: Problem;
  readonly params: Readonly<Record<string, string | undefined>>;
}

export type Router = (path: string) => Match;

type Compiled = Omit<Match, 'params'>;

/** Registers each path once, with the table of its methods as what it stores. Throws 404, 400 when asked. */
export function createRouter(routes: readonly Route[]): Router {
  const router = FindMyWay({ maxParamLength: MAX_TARGET });
  for (const { path, actions } of routes) router.on('GET', path, () => undefined, compile(path, actions));
  return (path) => {
    const found = router.find('GET', path);
    if (!found)
      throw isDecodable(path) ? noSuchPath() : badRequest('The path has an invalid percent-encoding.');
    const { template, actions, allow, acceptFields: takes, notAllowed } = found.store as Compiled;
    return { template, actions, allow, acceptFields: takes, notAllowed, params: found.params };
  };
}

function compile(template: string, actions: Route['actions']): Compiled {
  const table = new Map(Object.entries(actions));
  const get = table.get('GET');
  if (get) table.set('HEAD', get);
  const allow = [...ORDER.filter((method) => table.has(method)), 'OPTIONS'].join(', ');
  const takes = [
    ['Accept-Post', table.get('POST')?.accepts],
    ['Accept-Patch', table.get('PATCH')?.accepts],
  ].flatMap(([field, types]) => (types ? [field as string, (types as string[]).join(', ')] : []));
  return { template, actions: table, allow, acceptFields: takes, notAllowed: methodNotAllowed(allow) };
}

/** The action of a method, undefined for OPTIONS, which every resource answers the same way. Throws 405. */
export function selectAction(match: Match, method: string): Endpoint | undefined {
  const action = match.actions.get(method);
  if (!action && method !== 'OPTIONS') throw match.notAllowed;
  return action;
}

/** The action for those who have what it needs. */
export function requiring(needs: Requirement, action: Action): Endpoint {
  return { ...action, requires: needs };
}

/** The media type of an action's answer. Throws 406. */
export function negotiateType({ offers }: Action, accept: string | undefined): string {
  if (!offers) return '';
  const type = negotiate(accept, offers);
  if (type === undefined) throw notAcceptable(offers);
  return type;
}

/** The order in which Allow lists methods. */
const ORDER = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
