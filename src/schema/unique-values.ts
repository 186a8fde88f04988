import type { Run } from '../db/db.js';
import type { Json } from '../json.js';

/** The value of a unique key in a stored record; of several fields their values as JSON. */
export interface UniqueValue {
  /** The position of the key in its resource. */
  readonly key: number;
  /** The text of equal values is equal, as it is in the column. */
  readonly value: string;
  readonly id: string;
  /** Whether the record violates another rule, which is reported in place of a repeated value. */
  readonly isInvalid: boolean;
}

/** A record with a value that an earlier record has. */
export interface RepeatedValue {
  readonly key: number;
  readonly id: string;
  /** The first record with the value. */
  readonly first: string;
}

const TABLE = 'pg_temp.plinth_unique_values';
const MAX_ROWS = 1000;

/**
 * Collects values of unique fields in a temporary table, so that the memory of the process does not limit their number. Only
 * the database compares them.
 */
export class UniqueValues {
  private constructor(readonly run: Run) {}

  static async open(run: Run): Promise<UniqueValues> {
    await run(
      `create temporary table plinth_unique_values (key integer, value text, id uuid, invalid boolean)`,
      [],
    );
    return new UniqueValues(run);
  }

  async add(values: readonly UniqueValue[]): Promise<void> {
    if (values.length === 0) return;
    const rows = values.map(
      ({ key, value, id, isInvalid }): Json => ({ key, value, id, invalid: isInvalid }),
    );
    await this.run(
      `insert into ${TABLE} select * from json_to_recordset($1::text::json) as (key integer, value text, id uuid, invalid boolean)`,
      [JSON.stringify(rows)],
    );
  }

  /** The repeated values in the order of the ids of their records. */
  async *repeated(): AsyncGenerator<RepeatedValue> {
    await this.run(
      `create temporary table plinth_repeated_values as
        select distinct on (id) id, key, first
        from (
          select *, first_value(id) over (partition by key, value collate "C" order by id) as first
          from ${TABLE}
        ) as compared
        where id <> first and not invalid
        order by id, key`,
      [],
    );
    try {
      let after = '00000000-0000-0000-0000-000000000000';
      for (;;) {
        const rows = await this.run(
          `select id, key, first from pg_temp.plinth_repeated_values where id > $1 order by id limit ${MAX_ROWS}`,
          [after],
        );
        if (rows.length === 0) return;
        yield* rows as unknown as RepeatedValue[];
        after = String(rows.at(-1)!.id);
      }
    } finally {
      await this.run('drop table pg_temp.plinth_repeated_values', []);
    }
  }

  async close(): Promise<void> {
    await this.run(`drop table ${TABLE}`, []);
  }
}
