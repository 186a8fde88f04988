import type { Transform } from 'node:stream';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import type { BodyCoding, Coding } from '../http/content-coding.js';

/** A stream that decompresses. */
export type Decompressor = Transform & {
  /** The bytes that were decompressed so far; not those behind the compressed data. */
  readonly bytesWritten: number;
};

/** Functions that Node 22.15 added, and that the types of Node 20 do not have. */
interface Zstd {
  readonly createZstdCompress: (options: object) => Transform;
  readonly createZstdDecompress: (options: object) => Decompressor;
  readonly zstdCompress: typeof zlib.brotliCompress;
  readonly constants: Readonly<
    Record<'ZSTD_c_compressionLevel' | 'ZSTD_c_windowLog' | 'ZSTD_d_windowLogMax' | 'ZSTD_e_flush', number>
  >;
}

const zstd = zlib as unknown as Zstd;
const { constants } = zlib;

/** Levels that cost about as much as sending saves. Windows bound the memory of one compression to about 1 MiB. */
const GZIP = { level: 5 };
const BROTLI = {
  params: {
    [constants.BROTLI_PARAM_QUALITY]: 4,
    [constants.BROTLI_PARAM_LGWIN]: 18,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
  },
};
const zstdOptions = () => ({
  params: { [zstd.constants.ZSTD_c_compressionLevel]: 3, [zstd.constants.ZSTD_c_windowLog]: 18 },
});
/** 8 MiB, which every decoder of the coding must support, and no more (RFC 9659). */
const ZSTD_WINDOW_LOG = 23;

/** Compresses a whole body, on a thread of Node's pool. */
export const compressBody: Readonly<Record<Coding, (body: string) => Promise<Buffer>>> = {
  gzip: (body) => promisify<string, object, Buffer>(zlib.gzip)(body, GZIP),
  br: (body) => promisify<string, object, Buffer>(zlib.brotliCompress)(body, BROTLI),
  zstd: (body) => promisify<string, object, Buffer>(zstd.zstdCompress)(body, zstdOptions()),
};

/** Streams that compress on threads of Node's pool. Each write becomes readable without waiting for the next. */
export const compressor: Readonly<Record<Coding, () => Transform>> = {
  gzip: () => zlib.createGzip({ ...GZIP, flush: constants.Z_SYNC_FLUSH }),
  br: () => zlib.createBrotliCompress({ ...BROTLI, flush: constants.BROTLI_OPERATION_FLUSH }),
  zstd: () => zstd.createZstdCompress({ ...zstdOptions(), flush: zstd.constants.ZSTD_e_flush }),
};

/** Streams that decompress on threads of Node's pool. */
export const decompressor: Readonly<Record<BodyCoding, () => Decompressor>> = {
  gzip: () => zlib.createGunzip(),
  deflate: () => zlib.createInflate(),
  br: () => zlib.createBrotliDecompress(),
  zstd: () =>
    zstd.createZstdDecompress({ params: { [zstd.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } }),
};
