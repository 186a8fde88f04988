/** V8 looks at how a property is looked up where that is done often: here from the fiftieth time on. */
const LOOKS = 500;

/**
 * Has V8 keep classes as it has to for what makes their objects to be compiled. A class with a static member whose name
 * is computed (`static get [Symbol.species]`) it keeps as a dictionary, and finds after each compilation, of the
 * constructor and of all that calls it, that what was relied on has changed: it begins anew for ever. A class through
 * which properties are looked up it keeps otherwise.
 */
export function stabilizeClasses(...classes: readonly object[]): void {
  for (const each of classes) {
    const heir: { readonly missing?: never } = Object.create(each);
    for (let looks = 0; looks < LOOKS; looks++) void heir.missing;
  }
}
