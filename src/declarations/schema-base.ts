/** The `$id` of a schema in the folder of declarations, by its file, so that `$ref` can name other files. */
export const baseOf = (file: string): string => `https://plinth.invalid/collections/${file}`;
