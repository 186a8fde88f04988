import type { Requirement } from '../auth/principal.js';
import type { JsonObject } from '../json.js';
import type { ErrorName, Schema } from './doc.js';

/** The link of the home document to an endpoint, and where among the links it is. */
export interface HomeLink {
  readonly name: string;
  readonly position: number;
}

/** The JSON Schema of the fields that clients set. */
export interface InputSchema {
  readonly type: 'object';
  readonly required: readonly string[];
  readonly additionalProperties: false;
  readonly properties: Readonly<Record<string, object>>;
}

/**
 * An option of a command, which sets a field: of a list without `many` to the parts between commas, with a file to its
 * content, and with the value TIME to a time in the format of RFC 3339, also from a number of days like `90d`.
 */
export interface FieldOption {
  /** Absent: the field has the name of the option. */
  readonly sets?: string;
  readonly text: string;
  readonly value?: string;
  readonly values?: readonly string[];
  readonly many?: true;
  readonly required?: true;
  readonly isFile?: true;
  /** The value of the field with an option that has none. */
  readonly means?: string | true;
}

/** A command that creates things, or changes them. */
export interface FieldForm {
  readonly text: string;
  readonly options: Readonly<Record<string, FieldOption>>;
}

/**
 * A kind of things that operators manage, as data. Its endpoints, its pages, its command and its schemas in the documents
 * about the API derive from this.
 */
export interface Kind {
  readonly path: string;
  /** The name of its type in the documents about the API. */
  readonly type: string;
  /** The words for it: one in an error, one in a summary, and many. */
  readonly singular: string;
  readonly one: string;
  readonly many: string;
  readonly order: 'newest first' | 'by id';
  /** Maximum entries of a page of the list. */
  readonly limit: number;
  readonly homeLink: HomeLink;
  /** Absent: the scope `admin`. With another requirement the store decides what there is for a caller. */
  readonly requires?: Requirement;
  /** The member that only the response to a creation or a rotation has; absent: it has no secret. */
  readonly secret?: string;
  /** The text about its type in the documents about the API. */
  readonly about?: string;
  /** Errors of a creation that no other kind has. */
  readonly creationErrors?: readonly ErrorName[];
  /** Whether it can be changed. */
  readonly canChange?: true;
  /** The summary of the creation of another secret; absent: the secret stays. */
  readonly rotation?: string;
  /** Members that a body may have, and that have no effect, besides those that any record has. */
  readonly ignored?: readonly string[];
  /** The fields that clients set, in a service with these collections. */
  readonly input: (collections: readonly string[]) => InputSchema;
  /** The schemas of the members of a response, besides those that any record has. */
  readonly members: (collections: readonly string[]) => Readonly<Record<string, Schema>>;
  readonly page: KindPage;
  readonly command?: KindCommand;
}

/** The pages of managed resources. */
export interface KindPage {
  /** The members in the table of a list, the first one with a link. It is the title as well. */
  readonly columns: readonly string[];
  /** The button that opens the form of a deletion, if nothing else can be changed. */
  readonly removal?: string;
  /** Keywords for the inputs of a form, by the fields; `scopes` are those of the service. */
  readonly inputs: (scopes: readonly string[]) => Readonly<Record<string, object>>;
  /** The member with the id of a user, or with a text for another caller. Pages show and take names of users. */
  readonly user?: string;
  /** Pages about it, by the last segment of their paths. */
  readonly links?: Readonly<Record<string, string>>;
  /** Buttons that send a POST, by the last segment of its path. */
  readonly buttons?: Readonly<Record<string, string>>;
}

/** The command that manages resources. */
export interface KindCommand {
  readonly name: string;
  readonly create: FieldForm;
  readonly update?: FieldForm;
  readonly remove: { readonly verb: string; readonly text: string };
  /** The fields of a new one, with those that no option sets. */
  readonly defaults?: (given: JsonObject) => JsonObject;
  /** Whether values that are not valid are a wrong usage, which the message about them says of options. */
  readonly blamesOptions?: true;
}
