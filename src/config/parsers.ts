import { isIP } from 'node:net';
import { isAbsolute, join } from 'node:path';
import { isLoopbackAddress, type Network, parseNetwork } from '../formats/ip-address.js';

export const SECURE_URL = 'an https URL, or an http URL of a loopback address';

export function parseSecureUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname.replace(/^\[|\]$/g, '')))
    ? text
    : undefined;
}

export function parseNames(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== '');
}

export function parseNetworks(text: string): readonly Network[] | undefined {
  const networks = parseNames(text).map(parseNetwork);
  return networks.every((network) => network !== undefined) ? networks : undefined;
}

/** Undefined for text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function parseDate(text: string): Date | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text)) return undefined;
  const value = new Date(text);
  // Date reads 30 February as 2 March.
  const local = text.slice(0, 19);
  const read = new Date(`${local}Z`);
  if (Number.isNaN(value.getTime()) || Number.isNaN(read.getTime())) return undefined;
  return read.toISOString().startsWith(local) ? value : undefined;
}

/** Whether a text is an IP address without brackets, or a host name. */
export function isHost(text: string): boolean {
  return isIP(text) !== 0 || (HOST.test(text) && !/(^|\.)\d+$/.test(text));
}

const HOST = /^(?=.{1,253}$)[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i;

/** Whether only this machine reaches a host. */
export function isLoopback(host: string): boolean {
  return host.toLowerCase() === 'localhost' || isLoopbackAddress(host);
}

/** A path for Node's file functions: a relative one is in the folder. An empty folder is that of the process. */
export function pathIn(folder: string, path: string): string {
  return folder === '' || isAbsolute(path) ? path : join(folder, path);
}

/** Whether browsers reach the service by https. */
export const usesHttps = ({
  publicUrl,
  tlsCert,
}: {
  readonly publicUrl: string | undefined;
  readonly tlsCert: string | undefined;
}): boolean => (publicUrl === undefined ? tlsCert !== undefined : publicUrl.startsWith('https:'));
