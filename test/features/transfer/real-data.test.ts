import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { plinth } from '../../support/command.js';
import t from '../../support/test.js';
import { inferring } from './imports.js';

/** Northwind, as a file of json-server. */
const FILE = fileURLToPath(new URL('../../../../test/fixtures/northwind.json', import.meta.url));

type Fields = Readonly<Record<string, unknown>>;

/** The file as it is stored: a database has dates with a time, and NULL for no value. */
const source = JSON.parse(readFileSync(FILE, 'utf8'), (name, value) =>
  value === 'NULL' ? undefined : name.endsWith('Date') ? value.replace(' 00:00:00.000', '') : value,
) as Record<string, Fields[]>;

/** Which collection each reference names. */
const REFERENCES: Readonly<Record<string, string>> = {
  supplierId: 'suppliers',
  categoryId: 'categories',
  customerId: 'customers',
  shipperId: 'shippers',
  productId: 'products',
  orderId: 'orders',
};
const [customers, orders, details] = ['customers', 'orders', 'orderdetails'].map((name) => source[name]!) as [
  Fields[],
  Fields[],
  Fields[],
];

t.test('Northwind is inferred, imported, queried and exported', async (t) => {
  const { infer, declared, serve, env, COLLECTIONS, cwd } = await inferring(t);
  const imported = await infer(FILE);
  t.match(imported, { code: 0, err: '' });
  for (const [name, records] of Object.entries(source))
    t.match(imported.out, `${name}: ${records.length} stored, 0 refused\n`);
  const { send } = await serve();
  /** New ids by old ones. */
  const ids: Record<string, Map<unknown, string>> = {};
  for (const name of Object.keys(source)) {
    const records = (await send('GET', `/${name}`)).json as { id: string; legacy_id: number }[];
    ids[name] = new Map(records.map(({ id, legacy_id }) => [legacy_id, id]));
  }
  const id = (collection: string, old: unknown) => ids[collection]!.get(old)!;
  /** A record of the source as it must be stored. */
  const stored = ({ id: old, ...fields }: Fields, collection: string): Fields => ({
    ...Object.fromEntries(
      Object.entries(fields).map(([field, value]) =>
        REFERENCES[field] ? [field, id(REFERENCES[field], value)] : [field, value],
      ),
    ),
    id: id(collection, old),
    legacy_id: old,
  });
  const own = ({ created_at, updated_at, _version, ...fields }: Fields) => fields;

  t.test('the declarations', async (t) => {
    const { json } = await send('GET', '/openapi.json');
    t.ok(json.paths['/orders/{id}/orderdetails'] ?? json.paths['/orders/{orderId}/orderdetails']);
    const optional = ['legacy_id', 'shippedDate', 'shipPostalCode', 'shipRegion'];
    for (const [collection, fields] of Object.entries({
      products: ['supplierId', 'categoryId'],
      orders: ['customerId', 'shipperId'],
      orderdetails: ['productId', 'orderId'],
    })) {
      const { properties, required } = declared(collection);
      for (const field of fields) t.match(properties[field], { 'x-references': REFERENCES[field] });
      t.match(properties.legacy_id, { type: 'integer', 'x-unique': true });
      t.same(
        required,
        Object.keys(properties).filter((name) => !optional.includes(name)),
        'the other fields are missing nowhere',
      );
    }
    const orders = declared('orders');
    for (const name of ['orderDate', 'shippedDate'])
      t.match(orders.properties[name], { type: 'string', format: 'date' }, name);
    const { properties, required } = declared('suppliers');
    t.same(required, ['companyName', 'contactName', 'phone'], 'one supplier has no address');
    for (const name of ['postalCode', 'phone'])
      t.match(properties[name], { type: ['string', 'integer'] }, name);
  });

  t.test('every record is the one of the source', async (t) => {
    for (const [name, records] of Object.entries(source)) {
      const found = (await send('GET', `/${name}`)).json as Fields[];
      const expected = records.map((record) => stored(record, name));
      t.same(found.map(own), expected, name);
    }
  });

  t.test('what was inferred is filtered, sorted, searched, related and nested', async (t) => {
    const customer = id('customers', 71);
    const own = orders.filter(({ customerId }) => customerId === 71).length;
    const large = details.filter(({ quantity }) => (quantity as number) >= 100).length;
    const named = customers.filter(({ companyName, contactName }) =>
      /maria/i.test(`${companyName} ${contactName}`),
    ).length;
    const rows: [path: string, total: number][] = [
      [`/orders?filter[customerId]=${customer}&sort=shipCountry,-freight,orderDate`, own],
      [`/orders?filter[customerId]=${customer}&include=customer,shipper,orderdetails`, own],
      [`/customers/${customer}/orders?sort=-freight&limit=3`, own],
      ['/orderdetails?filter[quantity][gte]=100&limit=1&count=exact', large],
      ['/customers?search=maria&page=1', named],
    ];
    for (const [path, total] of rows) {
      const { status, json, text } = await send('GET', path);
      t.equal(status, 200, `${path} ${text.slice(0, 300)}`);
      t.equal(json.meta.total, total, path);
    }
  });

  t.test('the export is the source, with new ids', async (t) => {
    t.match(await plinth(t, ['export', '-o', 'all.json'], { ...env, COLLECTIONS }, { cwd }), { code: 0 });
    const all = JSON.parse(readFileSync(join(cwd, 'all.json'), 'utf8')) as Record<string, Fields[]>;
    t.same(Object.keys(all).sort(), Object.keys(source).sort());
    for (const [name, records] of Object.entries(source)) {
      const expected = records.map((record) => stored(record, name));
      t.same(all[name]!.map(own), expected, name);
    }
  });
});
