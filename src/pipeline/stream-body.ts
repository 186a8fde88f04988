import { unsupportedEncoding } from '../errors/input-errors.js';
import { BODY_CODINGS, bodyCoding } from '../http/content-coding.js';
import type { Body } from '../http/request.js';
import { BodyStream } from '../transport/body-stream.js';
import { hasBody, mediaType } from '../transport/request-body.js';
import type { RequestContext } from './context.js';

/**
 * The body of a request with one of the media types that its action reads while the body arrives; undefined: it has another one,
 * or no body. Throws 415.
 */
export function streamedBody(
  context: RequestContext,
  accepted: readonly string[],
  streams: readonly string[],
): Promise<Body> | Body | undefined {
  const { req, res, expectation, options, observation, bytes } = context;
  const coding = bodyCoding(req.headers['content-encoding']);
  if (coding === 'unknown') throw unsupportedEncoding(BODY_CODINGS);
  const type = mediaType(req, accepted);
  if (!streams.includes(type) || !hasBody(req)) return undefined;
  const open = (read: Buffer | undefined): Body => {
    const proceed = () => void (expectation === 'continue' && res.writeContinue());
    const stream = new BodyStream(req, { limits: options, coding, read, proceed, progress: observation });
    context.streamed = stream;
    return { type, value: null, bytes: NO_BYTES, stream };
  };
  // The check of a signature has read the whole body.
  return bytes ? bytes.then(open) : open(undefined);
}

const NO_BYTES = Buffer.alloc(0);
