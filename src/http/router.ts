import FindMyWay from 'find-my-way';
import { badRequest, methodNotAllowed, noSuchPath, notAcceptable } from '../errors.js';
import type { Requirement } from '../principal.js';
import type { Problem } from '../problem.js';
import { negotiate } from './content-negotiation.js';
import type { Reply } from './reply.js';
import type { Request } from './request.js';

/** The methods that resources can support, in the order of Allow (RFC 9110 section 9.3, RFC 5789). */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Bytes of a request target. */
export const MAX_TARGET = 8192;

/** What one method does on one resource. */
export interface Action {
  readonly run: (request: Request) => Promise<Reply> | Reply;
  /** Throws a 403 that depends on more than the caller's scopes and the path. Changes and locks nothing. */
  readonly authorize?: (request: Request) => Promise<void> | void;
  /**
   * Work that is too slow for a transaction and precedes it, resolving to the request to run; undefined: there is none.
   * Throws what `run` throws for an invalid body.
   */
  readonly prepare?: (request: Request) => (() => Promise<Request>) | undefined;
  /** Media types of the response, the default first. If there are several, they are negotiated. */
  readonly offers?: readonly string[];
  /** Media types of the body; absent: a body is not read. */
  readonly accepts?: readonly string[];
}

/** An action and the permission that it requires. */
export interface Endpoint extends Action {
  readonly requires: Requirement;
  /** Responds during maintenance as well, and is not rate limited. */
  readonly alwaysAvailable?: boolean;
}

/** A path with its actions by method; HEAD and OPTIONS follow from the others. */
export interface Route {
  readonly path: string;
  readonly actions: Readonly<Record<string, Endpoint>>;
}

/** The resource that a path identifies. */
export interface Match {
  /** The route's template: `/users/:id`. */
  readonly template: string;
  readonly actions: ReadonlyMap<string, Endpoint>;
  readonly allow: string;
  /** Accept-Post and Accept-Patch for the response to OPTIONS (RFC 5789 section 3.1). */
  readonly acceptFields: readonly string[];
  /** The 405 for methods that the resource does not support. */
  readonly notAllowed: Problem;
  readonly params: Readonly<Record<string, string | undefined>>;
}

export type Router = (path: string) => Match;

type Compiled = Omit<Match, 'params'>;

/** Registers each path once, with the table of its methods. The router throws 404 and 400. */
export function createRouter(routes: readonly Route[]): Router {
  const router = FindMyWay({ maxParamLength: MAX_TARGET });
  for (const { path, actions } of routes) router.on('GET', path, () => undefined, compile(path, actions));
  return (path) => {
    const found = router.find('GET', path);
    if (!found)
      throw isDecodable(path) ? noSuchPath() : badRequest('The path has an invalid percent-encoding.');
    // Not spread: this object is made for every request.
    const { template, actions, allow, acceptFields, notAllowed } = found.store as Compiled;
    return { template, actions, allow, acceptFields, notAllowed, params: found.params };
  };
}

function compile(template: string, actions: Route['actions']): Compiled {
  const table = new Map(Object.entries(actions));
  const get = table.get('GET');
  if (get) table.set('HEAD', get);
  const allow = METHODS.filter((method) => table.has(method) || method === 'OPTIONS').join(', ');
  const acceptFields = [
    ['Accept-Post', table.get('POST')?.accepts],
    ['Accept-Patch', table.get('PATCH')?.accepts],
  ].flatMap(([field, types]) => (types ? [field as string, (types as string[]).join(', ')] : []));
  return { template, actions: table, allow, acceptFields, notAllowed: methodNotAllowed(allow) };
}

/** The action of a method; undefined for OPTIONS, which is the same for every resource. Throws 405. */
export function selectAction(match: Match, method: string): Endpoint | undefined {
  const action = match.actions.get(method);
  if (!action && method !== 'OPTIONS') throw match.notAllowed;
  return action;
}

/** The action for callers that meet the requirement. */
export function requiring(requires: Requirement, action: Action): Endpoint {
  return { ...action, requires };
}

/** The negotiated media type of an action's response. Throws 406. */
export function negotiateType({ offers }: Action, accept: string | undefined): string {
  if (!offers) return '';
  const type = negotiate(accept, offers);
  if (type === undefined) throw notAcceptable(offers);
  return type;
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
