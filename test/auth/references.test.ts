import { callersOf, making } from '../support/callers.js';
import { declare } from '../support/collections.js';
import { declared, reference } from '../support/declared.js';
import { SIGN_IN } from '../support/names.js';
import { testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';

const DECLARATIONS = {
  'posts.json': {
    properties: {
      reviewerId: reference('users', 'restrict'),
      friendId: reference('users', 'null'),
      replyId: reference('posts', 'null'),
      topicId: reference('topics', 'null'),
      boardId: reference('topics', 'restrict'),
      secretId: reference('secrets', 'null'),
    },
  },
  'topics.json': declared({}, { public: 'read' }),
  'secrets.json': declared({}, { scopes: { read: 'vault' } }),
};
const NOBODY = '01900000-0000-7000-8000-000000000000';

/** The code of the 422 for a record that the caller may not read, and for no record, by the field that refers to it. */
const CODES: Readonly<Record<string, string>> = {
  friendId: 'USER_NOT_FOUND',
  reviewerId: 'USER_NOT_FOUND',
  replyId: 'POST_NOT_FOUND',
  secretId: 'SECRET_NOT_FOUND',
};

/** Two users with a post each, a public topic, a secret, and the requests of the first user, of a key, and of an administrator. */
async function blog(t: Test) {
  const env = { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto', AUTH: 'api-key' };
  const as = callersOf(await testService(t, env));
  const admin = await as('root', 'admin');
  const created = making(t, admin);
  const [ann, bob] = [
    await created('/users', { email: 'ann@example.org', name: 'Ann' }),
    await created('/users', { email: 'bob@example.org', name: 'Bob' }),
  ];
  const ids = {
    ann,
    bob,
    annsPost: await created('/posts', { userId: ann }),
    bobsPost: await created('/posts', { userId: bob }),
    topic: await created('/topics', {}),
    secret: await created('/secrets', {}),
  };
  return { admin, ids, self: await as(ann, 'self'), as };
}

t.test('a caller refers only to what it may read', SIGN_IN, async (t) => {
  const { self, ids } = await blog(t);
  const rows: [field: string, id: string, status: 'accepted' | 'rejected'][] = [
    ['friendId', ids.ann, 'accepted'],
    ['friendId', ids.bob, 'rejected'],
    ['friendId', NOBODY, 'rejected'],
    ['reviewerId', ids.ann, 'accepted'],
    ['reviewerId', ids.bob, 'rejected'],
    ['reviewerId', NOBODY, 'rejected'],
    ['replyId', ids.annsPost, 'accepted'],
    ['replyId', ids.bobsPost, 'rejected'],
    ['replyId', NOBODY, 'rejected'],
    ['topicId', ids.topic, 'accepted'],
    ['boardId', ids.topic, 'rejected'],
    ['boardId', NOBODY, 'rejected'],
    ['secretId', ids.secret, 'rejected'],
    ['secretId', NOBODY, 'rejected'],
  ];
  const path = `/posts/${ids.annsPost}`;
  const own = { userId: ids.ann };
  for (const [field, id, expected] of rows) {
    const body = { ...own, [field]: id };
    const operation = { method: 'POST', path: '/posts', body };
    const responses = [
      await self('POST', '/posts', body),
      await self('POST', `/users/${ids.ann}/posts`, body),
      await self('PATCH', path, { [field]: id }),
      await self('PUT', path, body),
      await self('POST', '/batch', [operation] as object),
    ];
    for (const [index, { status, json }] of responses.entries()) {
      const name = `${field} ${id}: ${status}`;
      if (expected === 'accepted') {
        t.ok([200, 201].includes(status), name);
        continue;
      }
      // A topic can be read, and only a caller that may write all posts may prevent its deletion.
      const isReadable = field === 'boardId';
      const code = isReadable ? 'INSUFFICIENT_SCOPE' : CODES[field];
      t.match({ status, json }, { status: isReadable ? 403 : 422, json: { error: { code } } }, name);
      // The details of a batch name its operation.
      const details = isReadable ? { scope: 'posts:write' } : { path: `/${field}` };
      if (index < 4) t.match(json.error.details, details, name);
    }
  }
});

t.test('references that others have set may stay', SIGN_IN, async (t) => {
  const { self, admin, ids } = await blog(t);
  const path = `/posts/${ids.annsPost}`;
  const set = { friendId: ids.bob, secretId: ids.secret };
  t.equal((await admin('PATCH', path, set)).status, 200);
  t.equal((await self('PATCH', path, { text: 'x' })).status, 200);
  t.equal((await self('PUT', path, { userId: ids.ann, ...set })).status, 200);
  t.equal((await self('PATCH', path, { secretId: null })).status, 200);
  t.equal((await self('PATCH', path, { secretId: ids.secret })).status, 422);
});

t.test('no record of a user prevents another deletion', SIGN_IN, async (t) => {
  const { self, admin, ids } = await blog(t);
  for (const field of ['reviewerId', 'boardId']) {
    const id = field === 'boardId' ? ids.topic : ids.bob;
    const { status } = await self('POST', '/posts', { userId: ids.ann, [field]: id });
    t.equal(status, field === 'boardId' ? 403 : 422, field);
  }
  t.equal((await admin('DELETE', `/users/${ids.bob}`)).status, 204);
  t.equal((await admin('DELETE', `/topics/${ids.topic}`)).status, 204);
});

t.test('a scope to write one collection does not reveal the records of another', async (t) => {
  const { as, ids } = await blog(t);
  const writer = await as('writer', 'posts:write', 'users:read');
  for (const secretId of [ids.secret, NOBODY])
    t.equal((await writer('POST', '/posts', { userId: ids.bob, secretId })).status, 422);
  t.equal((await writer('POST', '/posts', { userId: NOBODY })).status, 422, 'users may be read');
  t.equal((await writer('POST', '/posts', { userId: ids.bob, boardId: ids.topic })).status, 201);
  const both = await as('both', 'posts:write', 'users:read', 'vault');
  t.equal((await both('POST', '/posts', { userId: ids.bob, secretId: ids.secret })).status, 201);
});
