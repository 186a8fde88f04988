import { PASSWORD } from '../../support/credentials.js';

/** A page that a visitor sees, or the address outside of the service to which it was redirected. */
export interface Page {
  readonly status: number;
  readonly url: string;
  readonly headers: Headers;
  readonly text: string;
}

/** A browser without scripts: follows redirects within one origin, stores cookies and submits forms. */
export class Visitor {
  readonly #cookies = new Map<string, { readonly value: string; readonly path: string }>();

  #follows = true;

  constructor(readonly origin: string) {}

  open(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Page> {
    return this.#request(new URL(url, this.origin), 'GET', undefined, headers);
  }

  /** Submits the only form of a page, with what a person fills in and the button that it presses. */
  submit(
    page: Page,
    filled: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Page> {
    const action = /<form[^>]* action="([^"]*)"/.exec(page.text)?.[1] ?? page.url;
    const hidden = [...page.text.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"\s*\/?>/g)];
    const fields = { ...Object.fromEntries(hidden.map(([, name, value]) => [name!, value!])), ...filled };
    return this.#request(new URL(action, page.url), 'POST', new URLSearchParams(fields), headers);
  }

  /** Submits the form of a sign-in. */
  enter(page: Page, { email }: { readonly email: string }, password = PASSWORD): Promise<Page> {
    return this.submit(page, { email, password, action: 'sign-in' });
  }

  /** Submits a form like `submit`, but does not follow the redirect: returns its address. */
  async submitOnly(page: Page, filled: Readonly<Record<string, string>>): Promise<string> {
    this.#follows = false;
    try {
      return (await this.submit(page, filled)).url;
    } finally {
      this.#follows = true;
    }
  }

  /** Stores a cookie that someone else chose. */
  plant(name: string, value: string): void {
    this.#cookies.set(name, { value, path: '/' });
  }

  cookie(name: string): string | undefined {
    return this.#cookies.get(name)?.value;
  }

  async #request(
    url: URL,
    method: string,
    body?: URLSearchParams,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Page> {
    const cookies = [...this.#cookies]
      .filter(([, { path }]) => url.pathname.startsWith(path))
      .map(([name, { value }]) => `${name}=${value}`);
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      headers: { accept: 'text/html', cookie: cookies.join('; '), ...more },
      ...(body ? { body } : {}),
    });
    for (const field of response.headers.getSetCookie()) this.#store(field);
    const location = response.headers.get('location');
    if (location === null) return { ...shownBy(response, String(url)), text: await response.text() };
    await response.body?.cancel();
    const next = new URL(location, url);
    if (this.#follows && next.origin === this.origin) return this.#request(next, 'GET');
    return { ...shownBy(response, String(next)), text: '' };
  }

  #store(field: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(field) ?? [];
    const path = /;\s*path=([^;]+)/i.exec(field)?.[1] ?? '/';
    if (value === '' || /expires=Thu, 01 Jan 1970/i.test(field)) this.#cookies.delete(name);
    else this.#cookies.set(name, { value, path });
  }
}

const shownBy = ({ status, headers }: Response, url: string) => ({ status, url, headers });
