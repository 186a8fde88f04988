import zlib from 'node:zlib';
import { RESPONSE_CODINGS } from '../../src/http/content-coding.js';

const { zstdCompressSync, zstdDecompressSync } = zlib as unknown as Record<string, (bytes: Buffer) => Buffer>;

/** The content codings of this Node, each with both of its directions. */
export const CODECS: readonly [
  coding: string,
  encode: (b: Buffer) => Buffer,
  decode: (b: Buffer) => Buffer,
][] = [
  ['gzip', zlib.gzipSync, zlib.gunzipSync],
  ['br', zlib.brotliCompressSync, zlib.brotliDecompressSync],
  ...(RESPONSE_CODINGS.includes('zstd')
    ? [
        ['zstd', zstdCompressSync!, zstdDecompressSync!] as [
          string,
          typeof zlib.gzipSync,
          typeof zlib.gzipSync,
        ],
      ]
    : []),
];
