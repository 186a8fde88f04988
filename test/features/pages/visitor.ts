import { PASSWORD } from '../../support/credentials.js';
import type { ServiceResponse, TestService } from '../../support/service.js';
import type { Test } from '../../support/test.js';

const ENTITIES = /&#(\d+);/g;
const unescaped = (text: string) =>
  text.replace(ENTITIES, (_, code: string) => String.fromCharCode(Number(code)));

/** The fields that a browser sends to open a page. */
export const ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

/** The addresses of the links of a page. */
export const linksOf = (text: string): string[] =>
  [...text.matchAll(/<a [^>]*?href="([^"]*)"/g)].map(([, href]) => unescaped(href!));

type Values = Readonly<Record<string, string | readonly string[]>>;

/** A browser without scripts, which sends requests over sockets: it stores cookies and submits forms. */
export class PageVisitor {
  readonly #cookies = new Map<string, string>();

  constructor(
    readonly service: TestService,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {}

  async get(path: string): Promise<ServiceResponse> {
    const headers = { ...this.#headers(), accept: ACCEPT };
    return this.#remember(await this.service.send('GET', path, { headers }));
  }

  async text(path: string): Promise<string> {
    return (await this.get(path)).text;
  }

  /** Creates a record by the form of its collection. */
  async create(t: Test, path: string, values: Values): Promise<ServiceResponse> {
    return this.submit(t, await this.get(`${path}?_new`), 'Create', values);
  }

  /** Changes a record by its form. */
  async save(t: Test, path: string, values: Values = {}): Promise<ServiceResponse> {
    return this.submit(t, await this.get(`${path}?_edit`), 'Save', values);
  }

  /** Signs in at a page of the account. */
  async signIn(email: string, path = '/account'): Promise<ServiceResponse> {
    const csrf = /name="csrf" value="([^"]*)"/.exec(await this.text(path))![1]!;
    return this.post(path, new URLSearchParams({ csrf, email, password: PASSWORD, action: 'sign-in' }));
  }

  /** Submits the form of a page that has this button, with further or other values. */
  async submit(
    t: Test,
    page: ServiceResponse,
    button: string,
    values: Values = {},
    headers: Readonly<Record<string, string | undefined>> = {},
  ): Promise<ServiceResponse> {
    const form = [...page.text.matchAll(/<form[^>]*method="post"[\s\S]*?<\/form>/g)]
      .map(([text]) => text)
      .find((text) => new RegExp(`>${button}[^<]*</button>`).test(text));
    if (form === undefined) throw new Error(`no form has the button ${button}`);
    const fields = new URLSearchParams(fieldsOf(form));
    for (const [name, value] of Object.entries(values)) {
      fields.delete(name);
      for (const each of [value].flat()) fields.append(name, each);
    }
    t.ok(fields.has('_token'), 'the form has a token');
    return this.post(unescaped(/action="([^"]*)"/.exec(form)![1]!), fields, headers);
  }

  async post(
    path: string,
    fields: URLSearchParams,
    headers: Readonly<Record<string, string | undefined>> = {},
  ): Promise<ServiceResponse> {
    const own = {
      ...this.#headers(),
      accept: ACCEPT,
      origin: this.service.url,
      'sec-fetch-site': 'same-origin',
      ...headers,
    };
    const stated = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
    const type = 'application/x-www-form-urlencoded';
    const given = { headers: stated as Record<string, string>, body: String(fields), type };
    return this.#remember(await this.service.send('POST', path, given));
  }

  get cookies(): ReadonlyMap<string, string> {
    return this.#cookies;
  }

  #headers(): Record<string, string> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return { ...this.headers, ...(cookie === '' ? {} : { cookie }) };
  }

  #remember(response: ServiceResponse): ServiceResponse {
    for (const field of response.headers['set-cookie'] ?? []) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(field)!;
      if (/Max-Age=0/i.test(field)) this.#cookies.delete(name!);
      else this.#cookies.set(name!, value!);
    }
    return response;
  }
}

/** The names and values that a form submits as it is. */
function fieldsOf(form: string): [string, string][] {
  const inputs = [...form.matchAll(/<input ([^>]*)>/g)].flatMap(([, attributes = '']): [string, string][] => {
    const name = /name="([^"]*)"/.exec(attributes)?.[1];
    if (name === undefined || (/type="(checkbox|radio)"/.test(attributes) && !/ checked/.test(attributes)))
      return [];
    return [[unescaped(name), unescaped(/value="([^"]*)"/.exec(attributes)?.[1] ?? '')]];
  });
  const areas = [...form.matchAll(/<textarea [^>]*name="([^"]*)"[^>]*>\n?([\s\S]*?)<\/textarea>/g)].map(
    ([, name, text]): [string, string] => [unescaped(name!), unescaped(text!).replaceAll('\n', '\r\n')],
  );
  const selects = [...form.matchAll(/<select [^>]*name="([^"]*)"[^>]*>([\s\S]*?)<\/select>/g)].map(
    ([, name, options]): [string, string] => [unescaped(name!), unescaped(selectedIn(options!))],
  );
  // Browsers submit line ends of names as those of values.
  return [...inputs, ...areas, ...selects].map(([name, value]) => [name.replace(/\r?\n/g, '\r\n'), value]);
}

function selectedIn(options: string): string {
  const [, attributes = '', text = ''] = /<option([^>]*) selected>([^<]*)</.exec(options) ?? [];
  return /value="([^"]*)"/.exec(attributes)?.[1] ?? text;
}
