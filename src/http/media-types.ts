/** The media types of requests and responses. */
export const JSON_TYPE = 'application/json';
export const HTML_TYPE = 'text/html';
export const CSV_TYPE = 'text/csv';
export const YAML_TYPE = 'application/yaml';
/** A JSON document in each line: only for lists. */
export const NDJSON_TYPE = 'application/x-ndjson';
/** RFC 7396. */
export const MERGE_PATCH = 'application/merge-patch+json';
/** RFC 6902. */
export const JSON_PATCH = 'application/json-patch+json';
/** RFC 9457. */
export const PROBLEM_TYPE = 'application/problem+json';
