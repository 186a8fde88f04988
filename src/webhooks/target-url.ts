import { isIP } from 'node:net';
import type { Allowed } from '../config/webhooks.js';
import { mayConnect } from './ssrf-guard.js';

/** Characters of a target's URL. */
export const MAX_URL = 2048;

/** Where targets may be. */
export interface TargetRules {
  /** They may be http. */
  readonly insecure: boolean;
  readonly allowed: Allowed;
}

/**
 * Reads the URL of a target, in the one form that WHATWG URL gives it, or says what is wrong with it. An address in
 * it is judged here, in whatever notation; that of a name is when it is connected to.
 */
export function readTarget(text: string, { insecure, allowed }: TargetRules): URL | string {
  if (text.length > MAX_URL || !URL.canParse(text)) return 'must be a URL';
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(insecure && url.protocol === 'http:'))
    return insecure ? 'must be an https or http URL' : 'must be an https URL';
  if (url.username !== '' || url.password !== '') return 'must not hold credentials';
  url.hash = '';
  if (url.href.length > MAX_URL) return 'must be a URL';
  const host = hostOf(url);
  if (isIP(host) && !mayConnect(allowed, host, host)) return 'must not be an address inside';
  return url;
}

/** The host as names and addresses are compared: an IPv6 address without its brackets, a name without its last dot. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}
