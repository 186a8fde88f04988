import { type Reference, type Resource, singleReferences } from '../../collection/resource.js';
import { compileInput } from '../../collection/validated-input.js';
import { type Failure, Problem } from '../../errors/problem.js';
import { type JsonObject, member, setMember } from '../../json.js';

/** Values of a unique field that memory has room for. */
const MAX_VALUES = 1_000_000;

const NO_ID = '00000000-0000-7000-8000-000000000000';

/** Finds out whether a collection that comes with the service accepts the records of a file. */
export class BuiltInCheck {
  readonly references: readonly Reference[];
  readonly #resource: Resource;
  readonly #check: ReturnType<typeof compileInput>;
  readonly #unique: readonly {
    readonly fields: readonly string[];
    readonly at: readonly number[];
    readonly values: Set<string>;
  }[];
  #fault: string | undefined;

  constructor(resource: Resource) {
    this.#resource = resource;
    this.references = singleReferences(resource);
    this.#check = compileInput(resource);
    const fields = [...resource.columns.keys()];
    this.#unique = resource.unique.map((key) => ({
      fields: key.fields,
      at: key.fields.map((field) => fields.indexOf(field)),
      values: new Set(),
    }));
  }

  /** Why it does not; undefined: it does. */
  get fault(): string | undefined {
    return this.#fault;
  }

  add(given: JsonObject): void {
    if (this.#fault !== undefined) return;
    const record = { ...given };
    for (const { field } of this.references)
      if ((member(record, field) ?? null) !== null) setMember(record, field, NO_ID);
    try {
      const { columns } = this.#check(record, 'import');
      for (const { fields, at, values } of this.#unique) {
        const own = at.map((each) => columns[each]!);
        if (own.some((each) => each === null)) continue;
        const key = JSON.stringify(own);
        if (values.has(key) || values.size === MAX_VALUES)
          this.#fault = `two records have the same ${fields.join(' and ')}`;
        values.add(key);
      }
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const [failure] = (error.more.details ?? []) as readonly Failure[];
      this.#fault = `${this.#resource.name} refuses a record: ${failure?.path ?? ''} ${failure?.message ?? error.message}`;
    }
  }
}
