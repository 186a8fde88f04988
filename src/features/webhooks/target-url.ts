import { isIP } from 'node:net';
import type { Allowed } from './settings.js';
import { mayConnect } from './ssrf-guard.js';

/** Max characters of a target's URL. */
export const MAX_URL = 2048;

/** Which targets are allowed. */
export interface TargetRules {
  /** Targets may be http. */
  readonly insecure: boolean;
  readonly allowed: Allowed;
}

/**
 * Reads the URL of a target in its WHATWG form, or returns what is wrong with it. An address in it is checked here in any
 * notation; the addresses of a name are checked when the service connects.
 */
export function readTarget(text: string, { insecure, allowed }: TargetRules): URL | string {
  if (text.length > MAX_URL || !URL.canParse(text)) return 'must be a URL';
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(insecure && url.protocol === 'http:'))
    return insecure ? 'must be an https or http URL' : 'must be an https URL; INSECURE=webhooks allows http';
  if (url.username !== '' || url.password !== '') return 'must not hold credentials';
  url.hash = '';
  if (url.href.length > MAX_URL) return 'must be a URL';
  const host = hostOf(url);
  if (isIP(host) && !mayConnect(allowed, host, host))
    return `must not be an address of a private network; WEBHOOK_ALLOW=${host} allows it`;
  return url;
}

/** The host in comparable form: an IPv6 address without brackets, a name without a final dot. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}
