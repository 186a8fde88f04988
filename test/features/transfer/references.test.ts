import t, { type Test } from '../../support/test.js';
import { importing } from './imports.js';

const reference = (to: string, more = {}) => ({ type: 'string', 'x-references': to, ...more });

const DECLARATIONS = {
  'teams.json': {
    type: 'object',
    required: ['name'],
    properties: { name: { type: 'string', 'x-unique': true }, captainId: reference('players') },
  },
  'players.json': {
    type: 'object',
    required: ['name', 'teamId'],
    properties: {
      name: { type: 'string' },
      teamId: reference('teams'),
      mentorId: reference('players', { 'x-on-delete': 'null' }),
    },
  },
};

interface Stored {
  readonly id: string;
  readonly name: string;
  readonly [field: string]: unknown;
}

async function league(t: Test) {
  const world = await importing(t, DECLARATIONS);
  const load = (name: string, content: unknown, ...args: string[]) =>
    world.load([world.put(name, content), ...args]);
  const exported = async () => {
    t.match(await world.run('export', '-o', 'all.json'), { code: 0 });
    return world.read('all.json');
  };
  const all = async (path: string): Promise<Stored[]> => world.all(path);
  return { ...world, load, all, exported };
}

t.test('references to later records beyond a chunk', async (t) => {
  const { load, all, send } = await league(t);
  const count = 6000;
  const pad = 'x'.repeat(100);
  const teams = [1, 2].map((id) => ({ id, name: `team ${id}` }));
  const mentorOf = (id: number) => (id === 3 ? 3 : Math.min(count - 1, id + 1 + ((id * 7919) % 50)));
  const players = Array.from({ length: count }, (_, id) => ({
    id,
    name: `player ${id} ${pad}`,
    teamId: 1 + (id % 2),
    ...(id === 7 || id === count - 1 ? {} : { mentorId: mentorOf(id) }),
  }));
  t.same(await load('db.json', { teams, players }), {
    code: 0,
    out: `teams: 2 stored, 0 refused\nplayers: ${count} stored, 0 refused\n`,
    err: '',
  });
  const stored = new Map((await all('/players')).map((player) => [player.name, player]));
  const ids = players.map(({ name }) => stored.get(name)!.id);
  t.same(
    players.map(({ name }) => [stored.get(name)!.mentorId, stored.get(name)!._version]),
    players.map(({ mentorId }) => [mentorId === undefined ? undefined : ids[mentorId], 1]),
  );
  const last = players.filter(({ mentorId }) => mentorId === count - 1).length;
  const filtered = await send('GET', `/players?filter[mentorId]=${ids[count - 1]}&count=exact`);
  t.equal(filtered.json.meta.total, last, 'the columns have the references as well');
});

t.test('a record is refused with those to which it refers, and the others are stored', async (t) => {
  const { load, all } = await league(t);
  const { code, out, err } = await load('db.json', {
    teams: [
      { id: 1, name: 'a' },
      { id: 2, name: 2 },
      { id: 3, name: 'c', captainId: 99 },
      { id: 4, name: 'd', captainId: '' },
    ],
    players: [
      { id: 10, name: 'ten', teamId: 1, mentorId: 14 },
      { id: 11, name: 'eleven', teamId: 2 },
      { id: 12, name: 'twelve', teamId: 1, mentorId: 15 },
      { id: 13, name: 7, teamId: 88, mentorId: 'nobody' },
      { id: 14, name: 'fourteen', teamId: 1 },
      { id: 15, name: 'fifteen', teamId: 1, mentorId: 16 },
      { id: 16, name: 16, teamId: 1 },
      { id: 17, name: 'seventeen', teamId: 1, mentorId: 18 },
      { id: 18, name: 'eighteen', teamId: 1, mentorId: 17 },
    ],
  });
  t.equal(code, 1);
  t.match(out, 'teams: 1 stored, 3 refused\nplayers: 4 stored, 5 refused\n');
  t.match(err, /^teams\[2\]\/captainId: PLAYER_NOT_FOUND: No such player exists. \(value 99, record 3\)$/m);
  t.match(err, /^teams\[3\]\/captainId: PLAYER_NOT_FOUND: No such player exists. \(value "", record 4\)$/m);
  t.match(err, /^players\[6\]\/name: must be of type string \(value 16, record 16\)$/m);
  t.match(err, /^players\[1\]\/teamId: TEAM_NOT_FOUND/m, 'its team was refused');
  t.match(err, /^players\[5\]\/mentorId: PLAYER_NOT_FOUND/m, 'its mentor was refused');
  t.match(err, /^players\[2\]\/mentorId: PLAYER_NOT_FOUND/m, 'the mentor of its mentor was refused');
  const faults = err.split('\n').filter((line) => line.startsWith('players[3]'));
  // Everything that is wrong with a record.
  const places = ['players[3]/name', 'players[3]/teamId', 'players[3]/mentorId'];
  t.same(faults.map((line) => line.split(':')[0]).join(), places.join());
  const names = (await all('/players')).map(({ name }) => name);
  t.same(names, ['fourteen', 'ten', 'seventeen', 'eighteen']);
});

t.test('a file of CSV in which records refer to later ones', async (t) => {
  const { load, all } = await league(t);
  await load('teams.json', { teams: [{ id: 1, name: 'a' }] });
  const [team] = await all('/teams');
  const rows = [
    'id,name,teamId,mentorId',
    `1,"one;\r\nof two lines",${team!.id},3`,
    `2,two,${team!.id},1`,
    `3,three,${team!.id},`,
    `4,four,${team!.id},9`,
    `5,five,${team!.id},4`,
  ];
  const { code, out, err } = await load('players.csv', `${rows.join('\r\n')}\r\n`, '--as', 'players');
  t.same([code, out], [1, 'players: 3 stored, 2 refused\n']);
  t.match(err, /players\.csv:6\/mentorId: PLAYER_NOT_FOUND.*players\.csv:7\/mentorId/s);
  const players = new Map((await all('/players')).map((player) => [player.name, player]));
  t.equal(players.get('two')!.mentorId, players.get('one;\r\nof two lines')!.id);
  t.equal(players.get('one;\r\nof two lines')!.mentorId, players.get('three')!.id);
});

t.test('collections that refer to each other are imported in two steps', async (t) => {
  const { load, all, send, exported: exportAll } = await league(t);
  await load('db.json', { teams: [{ id: 1, name: 'a' }], players: [{ id: 2, name: 'b', teamId: 1 }] });
  const [[team], [player]] = [await all('/teams'), await all('/players')];
  const path = `/teams/${team!.id}`;
  t.equal((await send('PATCH', path, { body: { captainId: player!.id } })).status, 200);
  const exported = JSON.parse(await exportAll());
  const { captainId, ...without } = exported.teams[0];
  const empty = await league(t);
  t.match(await empty.load('all.json', exported, '--keep-ids'), {
    code: 1,
    out: /Import the records without captainId of teams first, then all by --on-conflict replace\./,
    err: /teams\[0\]\/captainId: PLAYER_NOT_FOUND/,
  });
  t.match(await empty.load('all.json', { ...exported, teams: [without] }, '--keep-ids'), { code: 0 });
  t.match(await empty.load('all.json', exported, '--on-conflict', 'replace'), { code: 0, err: '' });
  t.match(await empty.all('/teams'), [{ id: team!.id, captainId }]);
  t.same(await empty.all('/players'), await all('/players'));
});

t.test('what is no number, and what PostgreSQL would read as one, is no old id', async (t) => {
  const { load, put } = await importing(t, {
    'makers.json': {
      type: 'object',
      properties: { legacy_id: { type: 'integer', 'x-unique': true, readOnly: true } },
    },
    'parts.json': { type: 'object', properties: { makerId: reference('makers'), name: { type: 'string' } } },
  });
  const ids = ['', ' ', '0x10', 'NaN', 'Infinity', '1_0', '٣', 1, '1', '1e400'];
  const parts = ids.map((makerId) => ({ makerId }));
  t.match(await load([put('db.json', { makers: [{ id: 1 }], parts })]), {
    code: 1,
    out: 'makers: 1 stored, 0 refused\nparts: 2 stored, 8 refused\n',
  });
});

t.test('an export of everything is imported into an empty database, and among other records', async (t) => {
  const { load, all, exported } = await league(t);
  await load('db.json', {
    teams: [{ id: 1, name: 'a' }],
    players: [
      { id: 1, name: 'one', teamId: 1, mentorId: 2 },
      { id: 2, name: 'two', teamId: 1 },
    ],
  });
  const whole = await exported();
  const records = await all('/players');
  const empty = await league(t);
  t.match(await empty.load('all.json', whole), { code: 0, err: '' });
  t.same(await empty.all('/players'), records);
  t.match(await empty.load('all.json', whole), { code: 1, err: /teams\[0\]\/name: DUPLICATE/ });

  const other = await league(t);
  await other.load('db.json', { teams: [{ name: 'z' }], players: [] });
  t.match(await other.load('all.json', whole), { code: 0, err: '' });
  const [, team] = await other.all('/teams');
  const [two, one] = await other.all('/players');
  t.match([one!.name, one!.teamId, one!.mentorId], ['one', team!.id, two!.id]);
  for (const { id } of records) t.not(id, one!.id, 'new ids, and the same references');
});
