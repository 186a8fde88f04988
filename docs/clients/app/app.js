import { followEvents, typesOf } from '../events.js';
import { Session } from '../session.js';

const { service, client_id: clientId } = await (await fetch('config.json')).json();
const at = (id) => document.getElementById(id);
const say = (text) => {
  at('state').textContent = text;
};

const session = new Session({
  service,
  clientId,
  scope: 'openid email items:write events:read',
  redirectUri: location.origin + location.pathname,
  onEnd: () => show(),
});
const records = new Map();
let stop = () => {};

function show() {
  at('signed-in').hidden = !session.isSignedIn;
  at('sign-in').hidden = session.isSignedIn;
  if (session.isSignedIn) return;
  stop();
  records.clear();
  say('Signed out.');
}

function draw() {
  const rows = [...records.values()].map(({ name }) => {
    const row = document.createElement('li');
    row.textContent = name;
    return row;
  });
  at('items').replaceChildren(...rows);
}

/** Events and lists may tell of one change twice: the higher version is the newer one. */
function put(record) {
  if ((records.get(record.id)?._version ?? 0) < record._version) records.set(record.id, record);
}

function receive({ type, subject, data }) {
  if (type === 'items.deleted') records.delete(subject.split('/').at(-1));
  else put(data);
  draw();
}

async function load() {
  const response = await session.fetch('/items?sort=-created_at&limit=100');
  if (!response.ok) throw new Error(`no items: ${response.status}`);
  records.clear();
  const body = await response.json();
  for (const record of (body.data ?? body).toReversed()) put(record);
  draw();
  return response.headers.get('Events-Cursor');
}

async function open() {
  const response = await session.fetch('/userinfo');
  at('email').textContent = (await response.json()).email;
  const after = await load();
  stop = followEvents({
    service,
    after,
    request: (path, init) => session.fetch(path, init),
    types: typesOf(['items']),
    onEvent: receive,
    onState: say,
    onGap: load,
  });
}

async function add(event) {
  event.preventDefault();
  const response = await session.fetch('/items', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: at('name').value }),
  });
  if (!response.ok) throw new Error(`not added: ${response.status}`);
  at('name').value = '';
}

const report = (error) => {
  at('error').textContent = String(error.message);
};

at('sign-in').addEventListener('click', () => session.signIn().catch(report));
at('sign-out').addEventListener('click', () => session.signOut().catch(report));
at('add').addEventListener('submit', (event) => add(event).catch(report));
try {
  await session.finish();
  show();
  if (session.isSignedIn) await open();
} catch (error) {
  show();
  report(error);
}
