import type { Value } from '../db/db.js';
import { type Parameter, parametersIn } from './comparison-sql.js';
import type { Access } from './condition.js';
import type { ListRequest } from './list-request.js';

interface Statement {
  readonly text: string;
  readonly args: readonly Value[];
}

/** The statements of pages of all that callers may read, by their access, and by shape and order. */
export class CallersPages {
  readonly #known = new WeakMap<Access, Map<string, Statement>>();

  /** The statement of a page: its first parameters are `page`, and `fill` adds the others. */
  of(
    { selection, sorts: [sort] }: ListRequest,
    shape: string,
    page: readonly number[],
    fill: (parameter: Parameter) => string,
  ): Statement {
    const statements = this.#known.get(selection.access!) ?? new Map<string, Statement>();
    this.#known.set(selection.access!, statements);
    const key = `${shape} ${sort!.field} ${sort!.direction}`;
    // A parent is one of many.
    const isKnown = selection.parent === undefined;
    const known = isKnown ? statements.get(key) : undefined;
    if (known) return { text: known.text, args: [...page, ...known.args.slice(page.length)] };
    const args: Value[] = [...page];
    const statement = { text: fill(parametersIn(args)), args };
    if (isKnown) statements.set(key, statement);
    return statement;
  }
}
