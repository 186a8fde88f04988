import type { JsonObject } from '../../json.js';
import type { Version } from '../../versions/supported.js';

const text = (description: string, more: JsonObject = {}): JsonObject => ({
  description,
  schema: { type: 'string', ...more },
});
const count = (description: string): JsonObject => ({
  description,
  schema: { type: 'integer', minimum: 0 },
});

/** The response header fields that clients may use. */
export const headersOf = ({ number }: Version): Readonly<Record<string, JsonObject>> => ({
  ...HEADERS,
  'API-Version': text('The version that responded.', { enum: [number] }),
});

const HEADERS: Readonly<Record<string, JsonObject>> = {
  Accept: text('The media types of a body that the operation supports.'),
  'Accept-Encoding': text('The codings of a body that the operation supports.'),
  'Accept-Patch': text('The media types of a patch that the operation supports.'),
  'Accept-Post': text('The media types of a body that the operation supports.'),
  Allow: text('The methods that the resource supports.'),
  'X-Total-Count': count('All records of the list, beside a page as CSV or NDJSON.'),
  'Accept-Query': text('The media types of a QUERY (RFC 10008).'),
  'Cache-Control': text('Whether and how the response may be stored (RFC 9111).'),
  Deprecation: text('Since when the version is deprecated (RFC 9745).'),
  ETag: text('The version of the representation, for If-Match and If-None-Match (RFC 9110 section 8.8.3).'),
  'Events-Cursor': text('The position in the feed of events that this response reflects.'),
  'Idempotency-Replayed': text(
    '`true`: the stored response to an earlier request with this Idempotency-Key.',
    {
      enum: ['true'],
    },
  ),
  'Last-Modified': text('When the record was last changed.'),
  Link: text('Links to related resources (RFC 8288).'),
  Location: text('The address of what was created, or of the same query by GET.'),
  'Preference-Applied': text('The preference that was honoured (RFC 7240).'),
  RateLimit: text('What is left of the quota (RateLimit header fields for HTTP).'),
  'RateLimit-Policy': text('The quota (RateLimit header fields for HTTP).'),
  'Retry-After': count('Seconds after which the client may retry.'),
  Sunset: text('When the version will be switched off (RFC 8594).'),
  'Write-Position': text('After a write: what the client sends with reads that must show it.'),
  'WWW-Authenticate': text('The supported credentials (RFC 9110 section 11.6.1).'),
  'X-Request-Id': text('The id of the request, also in the log. A client may choose it.'),
};

/** The description of a field, and the schema of its value, if it is not any text. */
type Field = readonly [description: string, schema?: JsonObject];

/** The request header fields that operations support. */
export const requestFields = ({ number }: Version): Readonly<Record<string, JsonObject>> => {
  const version: Field = ['The version; it must be that of the path.', { type: 'string', enum: [number] }];
  const all: [string, Field][] = [...Object.entries(REQUEST_FIELDS), ['API-Version', version]];
  return Object.fromEntries(
    all.map(([key, [description, schema = { type: 'string' }]]) => [
      key,
      { name: key.replace(/ .*/, ''), in: 'header', description, schema },
    ]),
  );
};

/** By their names, and for fields with several meanings a word after it. */
const REQUEST_FIELDS: Readonly<Record<string, Field>> = {
  'Cache-Control': [
    '`max-age`: how old what a replica shows may be, in seconds; `no-cache`: read from the primary (RFC 9111).',
  ],
  'Idempotency-Key': [
    'Makes a repeat of the request safe: the first response is stored and sent again.',
    { type: 'string', minLength: 1, maxLength: 255 },
  ],
  'If-Match': ['Write only if the record has one of these ETags; otherwise 412.'],
  'If-Match any': [
    '`*`: whatever versions the records have. ETags are 400.',
    { type: 'string', enum: ['*'] },
  ],
  'If-None-Match': ['Read only if the ETag differs; otherwise 304.'],
  'If-Modified-Since': ['Read only if the record was changed since; otherwise 304.'],
  'If-Unmodified-Since': ['Only if the record was not changed since; otherwise 412.'],
  'Last-Event-ID': ['The cursor of the last event that a stream received.'],
  'Prefer return': ['`return=minimal`: the response has no content (RFC 7240).'],
  'Prefer creation': [
    '`return=minimal`: the response has no content; `handling=lenient`: of many records, those that are valid are stored; `respond-async`: a job stores them (RFC 7240).',
  ],
  'Write-Position': ['Read what a write with this field in its response has changed.'],
  'Prefer wait': ['`wait=20`: wait up to 20 seconds for events (RFC 7240).'],
};
