import type { Transform } from 'node:stream';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import type { BodyCoding, Coding } from '../http/content-coding.js';

/** A class that Node 22.15 added, and that the types of Node 20 do not have. */
interface Zstd {
  readonly createZstdCompress: (options: object) => Transform;
  readonly createZstdDecompress: (options: object) => Transform;
  readonly zstdCompress: typeof zlib.brotliCompress;
  readonly zstdDecompress: typeof zlib.brotliDecompress;
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

/** Compresses a whole body, on a thread of Node's pool. */
export function compressBody(body: string, coding: Coding): Promise<Buffer> {
  switch (coding) {
    case 'gzip':
      return promisify<string, zlib.ZlibOptions, Buffer>(zlib.gzip)(body, GZIP);
    case 'br':
      return promisify<string, zlib.BrotliOptions, Buffer>(zlib.brotliCompress)(body, BROTLI);
    case 'zstd':
      return promisify<string, object, Buffer>(zstd.zstdCompress)(body, zstdOptions());
  }
}

/** A stream that compresses on threads of Node's pool. Each write becomes readable without waiting for the next. */
export function compressor(coding: Coding): Transform {
  switch (coding) {
    case 'gzip':
      return zlib.createGzip({ ...GZIP, flush: constants.Z_SYNC_FLUSH });
    case 'br':
      return zlib.createBrotliCompress({ ...BROTLI, flush: constants.BROTLI_OPERATION_FLUSH });
    case 'zstd':
      return zstd.createZstdCompress({ ...zstdOptions(), flush: zstd.constants.ZSTD_e_flush });
  }
}

/** A stream that decompresses on threads of Node's pool. */
export function decompressor(coding: BodyCoding): Transform {
  switch (coding) {
    case 'gzip':
      return zlib.createGunzip();
    case 'deflate':
      return zlib.createInflate();
    case 'br':
      return zlib.createBrotliDecompress();
    case 'zstd':
      return zstd.createZstdDecompress({ params: { [zstd.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } });
  }
}

/** The value that Node's decompression returns with `info`. */
interface Decompressed {
  readonly buffer: Buffer;
  /** Has the number of bytes that were decompressed. */
  readonly engine: { readonly bytesWritten: number };
}

/** 8 MiB, which every decoder of the coding must support, and no more (RFC 9659). */
const ZSTD_WINDOW_LOG = 23;

type Decompress = (
  bytes: Buffer,
  options: object,
  done: (error: Error | null, result: Decompressed) => void,
) => void;

function decompressionOf(coding: BodyCoding): readonly [Decompress, object] {
  switch (coding) {
    case 'gzip':
      return [zlib.gunzip as unknown as Decompress, {}];
    case 'deflate':
      return [zlib.inflate as unknown as Decompress, {}];
    case 'br':
      return [zlib.brotliDecompress as unknown as Decompress, {}];
    case 'zstd':
      return [
        zstd.zstdDecompress as unknown as Decompress,
        { params: { [zstd.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } },
      ];
  }
}

/** The result of a decompression: the bytes, or why there are none. */
export type Decoded = Buffer | 'invalid' | 'too-large';

/** Decompresses a whole body up to `maxBytes`, on a thread of Node's pool. Bytes after the compressed data make it invalid. */
export function decompressBody(bytes: Buffer, coding: BodyCoding, maxBytes: number): Promise<Decoded> {
  const [decompress, options] = decompressionOf(coding);
  return new Promise((resolve, reject) => {
    decompress(bytes, { ...options, maxOutputLength: maxBytes, info: true }, (error, result) => {
      if (!error) return resolve(result.engine.bytesWritten === bytes.length ? result.buffer : 'invalid');
      const { code = '' } = error as NodeJS.ErrnoException;
      if (code === 'ERR_BUFFER_TOO_LARGE') resolve('too-large');
      else if (/MEM|ALLOC/i.test(code)) reject(error);
      else resolve('invalid');
    });
  });
}
