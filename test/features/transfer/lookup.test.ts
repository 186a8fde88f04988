import { valuesOf } from '../../support/callers.js';
import t, { type Test } from '../../support/test.js';
import { importing } from './imports.js';

const FILES = {
  'projects.json': {
    type: 'object',
    properties: {
      name: { type: 'string', 'x-unique': true, 'x-normalize': ['trim', 'lower'] },
      number: { type: 'integer', 'x-unique': true },
      place: { type: 'string', 'x-index': true },
      note: { type: 'string' },
    },
  },
  'tasks.json': {
    type: 'object',
    required: ['title'],
    properties: {
      title: { type: 'string', maxLength: 5 },
      projectId: { type: 'string', format: 'uuid', 'x-references': 'projects' },
      others: { type: 'array', maxItems: 10, items: { type: 'string', 'x-references': 'projects' } },
    },
  },
};

const PROJECTS = 'name,number,place\nApollo,7,north\ngemini,8,south\nvega,9,south\n';

/** A service with projects, and a function that imports files into it, each named as its collection. */
async function withProjects(t: Test) {
  const { put, load, ...service } = await importing(t, FILES);
  const loaded = (files: Readonly<Record<string, string>>, lookup?: string, ...more: string[]) => {
    const named = Object.entries(files).map(([name, text]) => `${name.split('.')[0]}=${put(name, text)}`);
    return load([...named, ...(lookup === undefined ? [] : ['--lookup', lookup]), ...more]);
  };
  return { ...service, load: loaded };
}

t.test('--lookup finds the records of references by a field, also those of the same command', async (t) => {
  for (const [field, values] of [
    ['name', ['apollo', ' GEMINI ', '"apollo"']],
    ['number', ['7', '8', '7.0']],
  ] as const) {
    const { send, load } = await withProjects(t);
    const rows = values.map((value, at) => `T${at},${value}`).join('\n');
    const files = { 'tasks.csv': `title,projectId\n${rows}\nnone,\n`, 'projects.csv': PROJECTS };
    const outcome = await load(files, `projectId=projects.${field}`);
    t.match(outcome, { code: 0, err: '', out: /tasks: 4 stored, 0 refused/ });
    const [apollo, gemini] = (await send('GET', '/projects?order=asc')).json;
    const tasks = (await send('GET', '/tasks')).json;
    t.same(valuesOf(tasks, 'projectId'), [apollo.id, gemini.id, apollo.id, undefined]);
  }
});

t.test('--lookup in arrays, and numbers of JSON', async (t) => {
  const { send, load } = await withProjects(t);
  t.match(await load({ 'projects.csv': PROJECTS }), { code: 0 });
  const tasks = '{"title":"A","projectId":8,"others":[7,"9"]}\n{"title":"B","others":[8,1]}\n';
  const lookups = ['projectId=projects.number', '--lookup', 'others=projects.number'] as const;
  const err = 'tasks.ndjson:2/others/1: no project has this number (value 1)\n';
  t.match(await load({ 'tasks.ndjson': tasks }, ...lookups), { code: 1, err });
  const [apollo, gemini, vega] = (await send('GET', '/projects?order=asc')).json;
  t.match((await send('GET', '/tasks')).json, [{ projectId: gemini.id, others: [apollo.id, vega.id] }]);
});

t.test('each record whose lookup finds none or several is refused with all its faults', async (t) => {
  const { send, load } = await withProjects(t);
  t.match(await load({ 'projects.csv': PROJECTS }), { code: 0 });
  const [apollo] = (await send('GET', '/projects?order=asc')).json;
  const tasks = `title,projectId\nA,north\nB,south\ntoo long,west\nD,${apollo.id}\n`;
  t.match(await load({ 'tasks.csv': tasks }, 'projectId=projects.place'), {
    code: 1,
    out: 'tasks: 1 stored, 3 refused\n',
    err: [
      'tasks.csv:3/projectId: more than one project has this place (value "south")',
      'tasks.csv:4/title: must have at most 5 characters (value "too long")',
      'tasks.csv:4/projectId: no project has this place (value "west")',
      `tasks.csv:5/projectId: no project has this place (value "${apollo.id}")`,
      '',
    ].join('\n'),
  });
});

t.test('a lookup that no collection can have is refused before anything is stored', async (t) => {
  const { send, load } = await withProjects(t);
  for (const [option, message] of [
    ['projectId', /--lookup must be FIELD=COLLECTION\.FIELD, not projectId/],
    ['projectId=projects', /--lookup must be FIELD=COLLECTION\.FIELD/],
    ['title=projects.name', /no collection of this import has a field title that refers to projects/],
    ['projectId=tasks.title', /no collection of this import has a field projectId that refers to tasks/],
    ['projectId=projects.note', /projects has no text or number note with x-unique or x-index/],
    ['projectId=projects.absent', /projects has no text or number absent with x-unique or x-index/],
  ] as const)
    t.match(await load({ 'tasks.csv': 'title\nA\n' }, option), { code: 64, err: message }, option);
  t.same((await send('GET', '/tasks')).json, []);
});
