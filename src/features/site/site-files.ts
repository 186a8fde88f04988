import { createReadStream } from 'node:fs';
import { readFile, realpath, stat } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { extname, join, relative, sep } from 'node:path';
import { hashedReply } from '../../collection/representation.js';
import { preconditionFailed } from '../../errors/record-errors.js';
import { evaluate, matchedEtag, readConditions } from '../../http/preconditions.js';
import type { Reply } from '../../http/reply.js';
import { INDEX } from './settings.js';

/** The media types by the ends of names; other files are application/octet-stream. */
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  json: 'application/json',
  map: 'application/json',
  webmanifest: 'application/manifest+json',
  xml: 'application/xml',
  wasm: 'application/wasm',
  pdf: 'application/pdf',
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  ico: 'image/vnd.microsoft.icon',
  woff: 'font/woff',
  woff2: 'font/woff2',
  ttf: 'font/ttf',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  webm: 'video/webm',
};

/** Permits files of this service alone, and no script or style inside of a page. */
const POLICY = [
  "default-src 'self'",
  "img-src 'self' data: blob:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const fieldsOf = (name: string): string[] => [
  'Content-Type',
  TYPES[extname(name).slice(1).toLowerCase()] ?? 'application/octet-stream',
  'Content-Security-Policy',
  POLICY,
  'Referrer-Policy',
  'same-origin',
];

/** The codes of errors of paths that lead to no file. */
const ABSENT: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EACCES']);

/** The files of a folder, except names that begin with a dot, and all below such folders. */
export class SiteFiles {
  private constructor(readonly root: string) {}

  static async open(folder: string): Promise<SiteFiles> {
    return new SiteFiles(await realpath(folder));
  }

  /** The page of the application, in which its own script decides by the address. */
  readonly index = async ({ headers }: { readonly headers: IncomingHttpHeaders }): Promise<Reply> =>
    hashedReply(fieldsOf(INDEX), await readFile(join(this.root, INDEX), 'utf8'), readConditions(headers));

  /** The file at an address, which is read while it is sent; undefined: there is none. Throws 400 and 412. */
  async replyTo(url: string, headers: IncomingHttpHeaders): Promise<Reply | undefined> {
    const path = await this.#fileAt(url.split('?', 1)[0]!);
    const found = path === undefined ? undefined : await stat(path);
    if (!found?.isFile()) return undefined;
    const { size, mtimeMs } = found;
    const etag = `"${size.toString(36)}-${Math.round(mtimeMs * 1000).toString(36)}"`;
    const conditions = readConditions(headers);
    const status = conditions ? evaluate(conditions, { etag, modified: () => mtimeMs }) : 200;
    if (status === 412) throw preconditionFailed(etag);
    const validators = (shown: string) => [
      ...['ETag', shown, 'Last-Modified', new Date(mtimeMs).toUTCString(), 'Cache-Control', 'no-cache'],
      ...fieldsOf(path!),
    ];
    if (status === 304) return { status, headers: validators(matchedEtag(conditions!, etag)) };
    const read = () => createReadStream(path!);
    return { status: 200, headers: validators(etag), content: { kind: 'bytes', read } };
  }

  /** The path that a request names, if it is in the folder, also after links are followed. */
  async #fileAt(path: string): Promise<string | undefined> {
    const name = decodeURIComponent(path.slice(1));
    if (/[\\\0]/.test(name) || !isShown(name.split('/'))) return undefined;
    try {
      const real = await realpath(join(this.root, name));
      return isShown(relative(this.root, real).split(sep)) ? real : undefined;
    } catch (error) {
      if (ABSENT.has((error as NodeJS.ErrnoException).code)) return undefined;
      throw error;
    }
  }
}

/** Whether no segment of a path leads up, is hidden or is empty. */
const isShown = (segments: readonly string[]): boolean =>
  segments.every((segment) => segment !== '' && !segment.startsWith('.'));
