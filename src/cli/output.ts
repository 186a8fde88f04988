/** Prints what a command has done: with --json the document alone, else the text. */
export function print(json: boolean, document: object, text: string): void {
  process.stdout.write(json ? `${JSON.stringify(document)}\n` : text);
}

/** Prints a list of unknown length: with --json an array, else one object a line. */
export class ListOutput {
  #isFirst = true;

  constructor(readonly json: boolean) {}

  add(entry: object): void {
    const separator = this.json ? (this.#isFirst ? '[\n' : ',\n') : '';
    process.stdout.write(`${separator}${JSON.stringify(entry)}${this.json ? '' : '\n'}`);
    this.#isFirst = false;
  }

  end(): void {
    if (this.json) process.stdout.write(this.#isFirst ? '[]\n' : '\n]\n');
  }
}

/** Whether the standard output is a terminal with colours. Node reads NO_COLOR and TERM. */
export const hasColours = (): boolean => process.stdout.isTTY && process.stdout.hasColors();
