/** One member of each record, in their order. */
export const valuesOf = (records: readonly Readonly<Record<string, unknown>>[], name: string): unknown[] =>
  records.map((record) => record[name]);
