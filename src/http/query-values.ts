/** A value in a query: of an address it is a text. */
export type Value = string | number | boolean;

/** One value of a parameter. In a text, commas separate names and a backslash escapes; a list has names as they are. */
export type Given = Value | readonly string[];

/** The parameters of a list or of a record, from an address or from JSON. */
export interface QueryValues {
  /** Whether they come from JSON, whose keys of the order are all meant. */
  readonly isBody: boolean;
  /** The names of the parameters, each once. A condition is one parameter, as `filter[price][gte]`. */
  readonly names: readonly string[];
  /** The values of a parameter; none: it is absent. */
  all(name: string): readonly Given[];
  /** The conditions. Throws 400 for a name that has another form. */
  filter(): FilterTree;
  /** The parameters as an address has them. */
  address(): URLSearchParams;
}

/** The places of a filter, by their escaped names. */
export type FilterTree = ReadonlyMap<string, FilterPlace>;

/** A place in a filter: `filter[a][b]` is below `filter[a]`. */
export interface FilterPlace {
  /** The parameter of the place. */
  readonly name: string;
  readonly values: readonly Value[];
  /** Whether the values are a list; otherwise the only value may be a text with several, which commas separate. */
  readonly isList: boolean;
  readonly members: FilterTree;
}
