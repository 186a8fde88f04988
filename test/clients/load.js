/** Loads a package of this folder, which the root of the project does not have. */
export const load = (name) => import(name);
