import type { Ajv2020 } from 'ajv/dist/2020.js';
import type { Normalization } from './normalization.js';

/** The rules of the fields of a body. */
export interface FieldRules {
  /** JSON Schema of the client's fields. Other fields are stored unchanged, unless it forbids them. */
  readonly schema: {
    readonly type: 'object';
    readonly required: readonly string[];
    readonly additionalProperties?: unknown;
    readonly properties: Readonly<Record<string, object>>;
    readonly [keyword: string]: unknown;
  };
  /** The schemas that this one refers to, and the validators with them; absent: it refers to none. */
  readonly referred?: {
    readonly ajv: (allErrors: boolean) => Ajv2020;
    readonly schemas: () => readonly object[];
  };
  /** The steps of a field before validation. */
  readonly normalize: Readonly<Record<string, readonly Normalization[]>>;
}
