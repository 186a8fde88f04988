/** V8 optimizes an object as a prototype after its properties were looked up often: currently fifty times. */
const LOOKUPS = 500;

/**
 * Works around slow compilation of code that creates the driver's objects (postgres 3.4.9). V8 stores a class with a
 * computed static member (`static get [Symbol.species]`) as a dictionary, and then discards optimized code of the
 * constructor and its callers again and again. Lookups through the class make V8 store it with a stable shape.
 */
export function stabilizeClasses(...classes: readonly object[]): void {
  for (const each of classes) {
    const heir: { readonly missing?: never } = Object.create(each);
    for (let lookups = 0; lookups < LOOKUPS; lookups++) void heir.missing;
  }
}
