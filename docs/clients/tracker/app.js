import { followEvents, typesOf } from '../events.js';
import { Session } from '../session.js';
import { Api } from './api.js';
import { element, replaceContent } from './elements.js';
import { showIssue, showProject } from './issues.js';
import { showHome, showNavigation, showTeam } from './teams.js';

const COLLECTIONS = ['teams', 'memberships', 'projects', 'issues', 'comments'];
const VIEWS = { '': showHome, teams: showTeam, projects: showProject, issues: showIssue };

const { service, client_id: clientId } = await (await fetch('config.json')).json();
const at = (id) => document.getElementById(id);
const report = (error) => {
  at('error').textContent = error?.message ?? '';
};

const session = new Session({
  service,
  clientId,
  scope: 'openid profile self',
  redirectUri: location.origin + location.pathname,
  onEnd: () => showSession(),
});
const api = new Api(session);
let me;
let stop = () => {};

function showSession() {
  const { isSignedIn } = session;
  for (const id of ['signed-in', 'who']) at(id).hidden = !isSignedIn;
  at('signed-out').hidden = isSignedIn;
  if (isSignedIn) return;
  stop();
  for (const id of ['teams', 'main']) at(id).replaceChildren();
  at('dialog').close();
  at('state').textContent = 'Signed out.';
}

/** What the views share. `act` runs an action of the user, and then shows its result. */
const context = {
  api,
  get me() {
    return me;
  },
  act: async (action) => {
    try {
      report(undefined);
      await action();
      await refresh();
    } catch (error) {
      report(error);
    }
  },
  go: (path) => {
    location.hash = path;
  },
  refresh: () => refresh(),
};

let running;
let isOutdated = false;

/** Reads and shows all again. Calls while it runs lead to one more run. Resolves with the cursor of the first list. */
function refresh() {
  isOutdated = true;
  running ??= (async () => {
    let cursor;
    while (isOutdated) {
      isOutdated = false;
      cursor = await showAll();
    }
    return cursor;
  })().finally(() => {
    running = undefined;
  });
  return running;
}

async function showAll() {
  const { hash } = location;
  const [, name = '', id, parameters = ''] = /^#\/(?:(\w+)\/([^?]+))?(?:\?(.*))?$/.exec(hash) ?? [];
  const navigation = await showNavigation(context, id);
  replaceContent(at('teams'), ...navigation.shown);
  let shown;
  try {
    shown = await (VIEWS[name] ?? showHome)(context, id, new URLSearchParams(parameters), navigation);
  } catch (error) {
    if (![403, 404].includes(error.status)) throw error;
    shown = [element('h1', { textContent: 'Not here' }), element('p', { textContent: error.message })];
  }
  if (location.hash === hash) replaceContent(at('main'), ...shown);
  document.title = `${at('main').querySelector('h1').textContent} · Tracker`;
  return navigation.cursor;
}

function receive({ type }) {
  if (/^(memberships|teams)\./.test(type)) api.forget();
  refresh().catch(report);
}

async function open() {
  const { sub, name } = await api.get('/userinfo');
  me = sub;
  at('name').textContent = name;
  const after = await refresh();
  addEventListener('hashchange', () => {
    report(undefined);
    refresh().catch(report);
  });
  stop = followEvents({
    service,
    after,
    request: (path, init) => session.fetch(path, init),
    types: typesOf(COLLECTIONS),
    onEvent: receive,
    onState: (text) => {
      at('state').textContent = text;
    },
    onGap: () => refresh(),
  });
}

at('sign-in').addEventListener('click', () => session.signIn().catch(report));
at('sign-out').addEventListener('click', () => session.signOut().catch(report));
try {
  await session.finish();
  showSession();
  if (session.isSignedIn) await open();
} catch (error) {
  showSession();
  report(error);
}
