import FindMyWay from 'find-my-way';
import { type Principal, permissionOf, type Requirement, STRANGER } from '../auth/principal.js';
import { editDistance } from '../errors/edit-distance.js';
import type { Problem } from '../errors/problem.js';
import {
  badRequest,
  filterRequired,
  methodNotAllowed,
  noSuchPath,
  notAcceptable,
} from '../errors/request-errors.js';
import { BODY_CODINGS } from './content-coding.js';
import { negotiate } from './content-negotiation.js';
import { formatOf, HTML_TYPE } from './media-types.js';
import { hasFilter, NO_QUERY, type Parameters, type Query } from './query-parameters.js';
import type { Reply } from './reply.js';
import type { Body, Handler, Request } from './request.js';

/** The methods that resources can support, in the order of Allow (RFC 9110 section 9.3, RFC 5789, RFC 10008). */
export const METHODS = ['GET', 'HEAD', 'QUERY', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Bytes of a request target. */
export const MAX_TARGET = 8192;

/** The parts of a request and a response that one method of a resource accepts and offers. */
export interface Offer extends Parameters {
  /** Media types of the response, the default first. If there are several, they are negotiated. */
  readonly offers?: readonly string[];
  /** Media types of the body; absent: a body is not read. */
  readonly accepts?: readonly string[];
  /** The media types of `accepts` whose bodies the action reads while they arrive. */
  readonly streams?: readonly string[];
  /** The method needs a filter in the address: `/items?filter[price]=0` is not the same resource as `/items`. */
  readonly requiresFilter?: boolean;
}

/** The implementation of one method on one resource. */
export interface Action {
  readonly run: (request: Request) => Promise<Reply> | Reply;
  /**
   * Work that is too slow for a transaction and precedes it, resolving to the request to run; undefined: there is none.
   * Throws what `run` throws for an invalid body, and the 403 of an operation of a batch.
   */
  readonly prepare?: ((request: Request) => (() => Promise<Request>) | undefined) | undefined;
  /** The caller, from the query instead of a credential; undefined: the query does not say. */
  readonly identify?: (query: Query) => Promise<Principal> | undefined;
}

/** The permission that an endpoint requires. */
export interface Permitted {
  readonly requires: Requirement;
}

/** An endpoint of a running service: an action, and the permission that it requires. */
export interface OpenEndpoint extends Action, Offer, Permitted {
  /** Responds as a page; absent: `run` responds in each media type. */
  readonly page?: Action['run'];
  /** Runs a request whose body is one of `streams`. */
  readonly stream?: Action['run'];
  /** Responds during maintenance and after the sunset of a version as well, and is not rate limited. */
  readonly alwaysAvailable?: boolean;
  /** Responds after the sunset of its version as well: it explains the errors of that time. */
  readonly outlivesVersion?: boolean;
}

/** A path with its actions by method; HEAD and OPTIONS follow from the others. */
export interface Route {
  readonly path: string;
  readonly actions: Readonly<Record<string, OpenEndpoint>>;
  /** Handles the requests instead of the actions, which only name the methods. The path has no version. */
  readonly handler?: Handler;
  /** Runs what a form of a page submits by POST. It is no method of the resource: OPTIONS does not list it. */
  readonly form?: OpenEndpoint;
}

/** The resource that a path identifies. */
export interface Match {
  /** The route's template: `/users/:id`. */
  readonly template: string;
  readonly actions: ReadonlyMap<string, OpenEndpoint>;
  /** The methods of the resource. */
  readonly allow: string;
  /** The methods for the response to a CORS preflight, also with a filter. */
  readonly preflightAllow: string;
  /** Accept-Post, Accept-Patch, Accept-Query and Accept-Encoding for the response to OPTIONS (RFC 5789 section 3.1). */
  readonly acceptFields: readonly string[];
  /** The 405 for methods that the resource does not support. */
  readonly notAllowed: Problem;
  readonly handler: Handler | undefined;
  readonly form: OpenEndpoint | undefined;
  readonly params: Readonly<Record<string, string | undefined>>;
}

export type Router = (path: string) => Match;

type Compiled = Omit<Match, 'params'>;

/**
 * Registers each path once, with the table of its methods; `trims`: without a slash at its end. The router throws 404 and 400. A route
 * with the path `*` has all paths that no other one has; its 405 is the 404 of the path.
 */
export function createRouter(all: readonly Route[], trims = false): Router {
  const router = FindMyWay({ maxParamLength: MAX_TARGET });
  const routes = all.filter(({ path }) => path !== '*');
  const rest = all.find(({ path }) => path === '*');
  const others = rest && compile(rest);
  for (const route of routes) router.on('GET', route.path, () => undefined, compile(route));
  const names = [...new Set(routes.map(({ path }) => path.split('/')[1]!))];
  const missing = (path: string): Problem =>
    noSuchPath(likePaths(path, names).find((each) => router.find('GET', each) !== null));
  return (given) => {
    const path = trims && given.length > 1 && given.endsWith('/') ? given.slice(0, -1) : given;
    const found = router.find('GET', path);
    // A parameter may not be empty.
    if (!found || (path.endsWith('/') && path.length > 1)) {
      const problem = isDecodable(path)
        ? missing(path)
        : badRequest('The path has an invalid percent-encoding.');
      if (!others || problem.status !== 404) throw problem;
      return { ...others, notAllowed: problem, params: {} };
    }
    // Not spread: this object is made for every request.
    const { template, actions, allow, preflightAllow, acceptFields, notAllowed, handler, form } =
      found.store as Compiled;
    const { params } = found;
    return { template, actions, allow, preflightAllow, acceptFields, notAllowed, handler, form, params };
  };
}

function compile({ path: template, actions, handler, form }: Route): Compiled {
  const table = new Map(Object.entries(actions));
  const get = table.get('GET');
  if (get) table.set('HEAD', get);
  const all = METHODS.filter((method) => table.has(method) || method === 'OPTIONS');
  const methods = all.filter((method) => !table.get(method)?.requiresFilter);
  const accepted = (method: string) => (methods.includes(method) ? table.get(method)?.accepts : undefined);
  const acceptFields = [
    ['Accept-Post', accepted('POST')],
    ['Accept-Patch', accepted('PATCH')],
    ['Accept-Query', accepted('QUERY')],
    // RFC 7694 section 3.
    ['Accept-Encoding', METHODS.some(accepted) ? BODY_CODINGS : undefined],
  ].flatMap(([field, types]) => (types ? [field as string, (types as string[]).join(', ')] : []));
  const [allow, preflightAllow] = [methods.join(', '), all.join(', ')];
  const notAllowed = methodNotAllowed(allow);
  return { template, actions: table, allow, preflightAllow, acceptFields, notAllowed, handler, form };
}

/** The action of a method; undefined for OPTIONS, which is the same for every resource. Throws 405. */
export function selectAction(match: Match, method: string, query: Query): OpenEndpoint | undefined {
  const action = match.actions.get(method);
  if (action?.requiresFilter && !hasFilter(query)) throw filterRequired(match.allow);
  if (!action && method !== 'OPTIONS') throw match.notAllowed;
  return action;
}

/** The function that runs a request: as a page, with a body that is read while it arrives, or any other. */
export const runOf = ({ page, stream, run }: OpenEndpoint, type: string, body?: Body): Action['run'] =>
  (type === HTML_TYPE && page) || (body?.stream && stream) || run;

/**
 * The negotiated media type of an action's response. Throws 406. A browser, and a client that accepts anything, get another
 * one by `_format` in the address.
 */
export function negotiateType({ offers }: Offer, accept: string | undefined, query = NO_QUERY): string {
  if (!offers) return '';
  const type = negotiate(accept, offers);
  if (type === undefined) throw notAcceptable(offers);
  const isOpen = type === HTML_TYPE || accept === undefined || accept.trim() === '*/*';
  if (!isOpen || !query.text.includes('_format=')) return type;
  const format = query.parameters.get('_format');
  return offers.find((offer) => formatOf(offer) === format) ?? type;
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether a caller may see an endpoint: it may use it with the path of `params`, or else with some path, which may be that of
 * its own record.
 */
export function visible(
  caller: Principal,
  { requires }: Permitted,
  params: Readonly<Record<string, string | undefined>> = { id: caller.subject },
): boolean {
  return requires === 'credential'
    ? caller !== STRANGER
    : permissionOf(caller, requires, params) !== undefined;
}

/** Longer paths get no suggestion. */
const MAX_LENGTH = 200;
const MAX_DISTANCE = 2;

/** Paths that the client may have meant by an unknown one, the likeliest first: without a version, and with known names at the beginning. */
function likePaths(path: string, names: readonly string[]): string[] {
  if (path.length > MAX_LENGTH) return [];
  const [first = '', ...rest] = path.split('/').filter((each) => !/^(?:|api|rest|v\d+)$/i.test(each));
  const firsts = [first, ...names.filter((name) => isLike(name, first))];
  return firsts.map((name) => `/${[name, ...rest].join('/')}`);
}

function isLike(name: string, given: string): boolean {
  const lower = given.toLowerCase();
  if (name === lower) return true;
  const limit = Math.min(MAX_DISTANCE, Math.floor(name.length / 3));
  return Math.abs(name.length - lower.length) <= limit && editDistance(name, lower) <= limit;
}
