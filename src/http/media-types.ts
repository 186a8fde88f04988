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

/** The media type of groups. Its profile distinguishes them from the records of a list. */
export const GROUPS_TYPE = 'application/json; profile=groups';

/** The short name of a media type: `json`, `csv`, `ndjson`, `html`. */
export const formatOf = (type: string): string => type.slice(type.indexOf('/') + 1).replace(/^x-/, '');

/** The media type of forms of pages. */
export const FORM_TYPE = 'application/x-www-form-urlencoded';
