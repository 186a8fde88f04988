import type { Run, Value } from '../db/db.js';
import { padForImmediateWrite } from '../db/pool/postgres-immediate-write.js';
import type { JsonObject } from '../json.js';
import { Problem } from '../problem.js';
import { compileOnFirstUse } from '../validation.js';
import type { StoredRecord } from './record.js';
import type { Resource } from './resource.js';

/** Fields to be laid over those of a record, none of them null. */
export interface Amendment {
  readonly id: string;
  readonly fields: JsonObject;
  /** The version that the record must have; undefined: any. */
  readonly version: number | undefined;
  readonly updatedAt: string;
  /** Bytes that the record may come to have. */
  readonly maxBytes: number;
}

/** Bytes of the fields, and of the document that they are laid over: what this takes grows with their product. */
const MAX_FIELDS = 1000;
const MAX_DOCUMENT = 4096;

/** A name that a document may have before all others, since it counts as an index. */
const INDEX = /^\d/;

/**
 * Opens what changes fields of a record in one statement, `text`, that neither reads it first nor checks it as a whole.
 * The result keeps the rules where the record did, since a rule looks at one field: it is only done to a record that
 * carries the number of the present ones. Undefined when it was not done, for whatever reason: who works out the whole
 * record will know it.
 */
export function openAmend(
  resource: Resource,
  text: string,
): (run: Run, amendment: Amendment) => Promise<StoredRecord | undefined> {
  const { schema, normalize, columns, parent } = resource;
  const check = compileOnFirstUse({ schema: { ...schema, required: [] }, normalize });
  const isApart = (name: string): boolean =>
    INDEX.test(name) || name === parent?.field || schema.properties[name]?.writeOnly === true;

  /** Undefined also for what breaks the rules: there may be no such record, which is told first. */
  function checked(fields: JsonObject): JsonObject | undefined {
    if (Object.keys(fields).some(isApart)) return undefined;
    try {
      return check(fields).fields;
    } catch (error) {
      if (error instanceof Problem) return undefined;
      throw error;
    }
  }

  return async (run, { id, fields, version, updatedAt, maxBytes }) => {
    const kept = checked(fields);
    if (!kept) return undefined;
    const bytes = Buffer.byteLength(JSON.stringify(kept));
    if (bytes > MAX_FIELDS) return undefined;
    const values = Object.values(kept).map((value) => JSON.stringify(value));
    const [row] = await run(text, [
      id,
      version ?? null,
      updatedAt,
      arrayOf(Object.keys(kept)),
      padForImmediateWrite(arrayOf(values)),
      Math.min(MAX_DOCUMENT, maxBytes - bytes),
      ...Object.keys(columns).map((field) => (kept[field] ?? null) as Value),
    ]);
    return row && { id, version: row.version as number, doc: row.doc as string };
  };
}

/** Texts as PostgreSQL reads an array of them. */
const arrayOf = (texts: readonly string[]) =>
  `{${texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
