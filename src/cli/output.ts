import type { Io, Output } from './io.js';

/** Prints what a command has done: with --json the document alone, else the text. */
export function print({ stdout }: Pick<Io, 'stdout'>, json: boolean, document: object, text: string): void {
  stdout.write(json ? `${JSON.stringify(document)}\n` : text);
}

/** Prints a list of unknown length: with --json an array, else one object a line. */
export class ListOutput {
  readonly #out: Output;
  #isFirst = true;

  constructor(
    { stdout }: Io,
    readonly json: boolean,
  ) {
    this.#out = stdout;
  }

  add(entry: object): void {
    const separator = this.json ? (this.#isFirst ? '[\n' : ',\n') : '';
    this.#out.write(`${separator}${JSON.stringify(entry)}${this.json ? '' : '\n'}`);
    this.#isFirst = false;
  }

  end(): void {
    if (this.json) this.#out.write(this.#isFirst ? '[]\n' : '\n]\n');
  }
}

/** Whether the standard output is a terminal with colours, which NO_COLOR and TERM decide. */
export const hasColours = ({ stdout, env }: Io): boolean =>
  stdout.isTTY === true && stdout.hasColors?.(env) === true;
