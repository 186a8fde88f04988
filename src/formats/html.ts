/** HTML text. Templates insert it as it is. */
export class Html {
  constructor(readonly text: string) {}

  toString(): string {
    return this.text;
  }
}

/** What a template inserts: text is escaped, HTML is not, and `undefined` and `false` are nothing. */
export type Part = Html | string | number | undefined | false | readonly Part[];

/** A template of HTML, whose values are escaped: html`<p>${text}</p>`. Values of attributes need quotes around them. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((text, string, index) => text + textOf(parts[index - 1] as Part) + string));
}

function textOf(part: Part): string {
  if (part instanceof Html) return part.text;
  if (part === undefined || part === false) return '';
  if (typeof part === 'string') return escapeHtml(part);
  return typeof part === 'number' ? String(part) : part.map(textOf).join('');
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
