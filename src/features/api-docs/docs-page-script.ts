/**
 * The script of the documentation page. It loads the document with the credential that the reader has entered, since the
 * document shows what a caller may use, and signs requests for the scheme `signature`, whose value is entered as `id:secret`.
 */
export const APP_SCRIPT = `
const DOCUMENT = new URL('../openapi.json', import.meta.url).href;

const state = {};
const encode = (text) => new TextEncoder().encode(text);
const base64 = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)));

async function sign(request, value) {
  const [id, ...rest] = value.split(':');
  const { pathname, search } = new URL(request.url, location.href);
  const time = String(Math.floor(Date.now() / 1000));
  const text = [time, request.method ?? 'GET', pathname + search, request.body ?? ''].join('\\n');
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', encode(rest.join(':')), algorithm, false, ['sign']);
  request.headers['X-Key-Id'] = id;
  request.headers['X-Timestamp'] = time;
  request.headers['X-Signature'] = base64(await crypto.subtle.sign('HMAC', key, encode(text)));
}

/** The credential that the reader has entered, for the request of the document itself. */
function addCredential(request) {
  // The first request comes before the page is ready.
  const authorized = state.ui?.authSelectors.authorized()?.toJS() ?? {};
  for (const { schema, value, token } of Object.values(authorized)) {
    if (token?.access_token) request.headers.Authorization = 'Bearer ' + token.access_token;
    else if (schema.type === 'apiKey') request.headers[schema.name] = value;
    else if (schema.scheme === 'basic')
      request.headers.Authorization = 'Basic ' + base64(encode(value.username + ':' + value.password));
    else if (typeof value === 'string') request.headers.Authorization = 'Bearer ' + value;
    return;
  }
}

async function intercept(request) {
  request.headers ??= {};
  if (request.loadSpec) addCredential(request);
  const value = request.headers['X-Signature'];
  if (value?.includes(':')) await sign(request, value);
  return request;
}

/** Loads the document again whenever the credential changes. */
const reload = (original, system) => (payload) => {
  const result = original(payload);
  queueMicrotask(() => system.specActions.download(DOCUMENT));
  return result;
};
const wrapActions = { authorize: reload, logout: reload, authorizeOauth2: reload };

state.ui = SwaggerUIBundle({
  url: DOCUMENT,
  dom_id: '#docs',
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  validatorUrl: null,
  requestInterceptor: intercept,
  oauth2RedirectUrl: new URL('oauth2-redirect.html', import.meta.url).href,
  plugins: [() => ({ statePlugins: { auth: { wrapActions } } })],
  onComplete: () => {
    for (const select of document.querySelectorAll('select:not([aria-label])')) select.setAttribute('aria-label', 'Choice');
  },
});
state.ui.initOAuth({ usePkceWithAuthorizationCodeGrant: true });
`;
