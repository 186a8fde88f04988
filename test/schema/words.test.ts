import { ownPathsOf } from '../../src/config/config.js';
import { isNameAvailable } from '../../src/declarations/check-declarations.js';
import { declare } from '../support/collections.js';
import { freshService, undeclaredDatabase } from '../support/service.js';
import { readSettings } from '../support/settings.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';

t.test('words and types of PostgreSQL are names of collections and of fields', async (t) => {
  const url = await undeclaredDatabase(t);
  const sql = sqlOf(t, url);
  // Words that are no names of types or are reserved, names of types, and the variables and system columns that functions and tables have.
  const rows = await sql`
    select word as name from pg_get_keywords() where catcode in ('C', 'R', 'T')
    union select attname from pg_attribute where attrelid = 'pg_class'::regclass and attnum < 0
    union select unnest('{refcursor,path,date,json,text,cidr,if,old,new,found,tg_op,changed,current,written,key,name,record,match,page,total,first,id,doc}'::text[])`;
  const names = rows.map(({ name }) => String(name)).filter((name) => /^[a-z][a-z0-9_]*$/.test(name));
  t.ok(names.length > 60, `${names.length} names`);
  const ownPaths = ownPathsOf(readSettings({}));
  const collections = names.filter((name) => isNameAvailable(name, ownPaths));
  t.ok(collections.length > 60, `${collections.length} collections`);
  const files = collections.map((name) => [
    `${name}.json`,
    { type: 'object', properties: { name: { type: 'string', 'x-index': true } } },
  ]);
  const text = { type: 'string', 'x-index': true, 'x-search': true };
  const fields = names.filter((name) => name !== 'id');
  const parts = Array.from({ length: Math.ceil(fields.length / 100) }, (_, part) =>
    fields.slice(part * 100, part * 100 + 100),
  );
  const withColumns = parts.map((part, index) => [
    `columns_${index}.json`,
    { type: 'object', properties: Object.fromEntries(part.map((name) => [name, text])) },
  ]);
  const reference = { type: 'string', 'x-references': 'targets', 'x-on-delete': 'null' };
  const own = { type: 'string', 'x-references': 'users', 'x-on-delete': 'cascade' };
  const owned = ['old', 'new', 'found', 'tg_op'];
  const { send, logged } = await freshService(t, {
    DATABASE_URL: url,
    MIGRATE: 'auto',
    COLLECTIONS: declare(t, {
      ...Object.fromEntries(files),
      ...Object.fromEntries(withColumns),
      'targets.json': { type: 'object', properties: {} },
      'refs.json': {
        type: 'object',
        properties: Object.fromEntries(owned.map((name) => [name, reference])),
      },
      ...Object.fromEntries(
        owned.map((name) => [
          `owned_${name}.json`,
          { type: 'object', required: [name], properties: { [name]: own }, 'x-collection': { nested: true } },
        ]),
      ),
    }),
  });
  for (const name of collections) {
    const create = { method: 'POST', path: `/${name}`, body: { name: 'a' } };
    // Two writes at once share a statement.
    const created = await Promise.all([1, 2, 3].map(() => send('POST', `/${name}`, { body: { name: 'a' } })));
    const { id } = created[0]!.json;
    const statuses = [
      ...created,
      await send('POST', '/batch', { body: [create, create] }),
      ...(await Promise.all(
        [1, 2].map((n) =>
          send('PUT', `/${name}/${created[n]!.json.id}`, {
            body: { name: 'b' },
            headers: { 'if-match': '"1"' },
          }),
        ),
      )),
      await send('GET', `/${name}?page=1&filter[name]=a&sort=-name`),
      await send('DELETE', `/${name}/${id}`),
    ].map(({ status }) => status);
    t.ok(
      statuses.every((status) => status < 300),
      `${name}: ${statuses}`,
    );
  }
  for (const [index, part] of parts.entries()) {
    const collection = `columns_${index}`;
    const values = Object.fromEntries(part.map((name) => [name, `the ${name}`]));
    const { status, json: created } = await send('POST', `/${collection}`, { body: values });
    t.match([status, created], [201, values], logged.join(''));
    for (const name of part) {
      const query = `filter[${name}]=the%20${name}&filter[${name}][contains]=${name}&sort=-${name},created_at&fields=${name}`;
      for (const path of [`/${collection}?${query}`, `/api/v2/${collection}?${query}`]) {
        const { status, json } = await send('GET', path);
        t.match([status, json.data], [200, [{ [name]: `the ${name}` }]], path);
      }
    }
    t.equal((await send('PATCH', `/${collection}/${created.id}`, { body: { [part[0]!]: 'x' } })).status, 200);
  }
  const target = (await send('POST', '/targets', { body: {} })).json.id;
  const user = (await send('POST', '/users', { body: { name: 'Ann', email: 'ann@example.org' } })).json.id;
  for (const name of owned) {
    const refs = (await send('POST', '/refs', { body: { [name]: target } })).json;
    t.equal((await send('GET', `/refs/${refs.id}`)).json[name], target);
    t.equal((await send('POST', `/users/${user}/owned_${name}`, { body: {} })).status, 201, name);
  }
  t.equal((await send('DELETE', `/targets/${target}`)).status, 204);
  t.equal((await send('DELETE', `/users/${user}`)).status, 204);
});
