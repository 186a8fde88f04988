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
const [customers, orders, details, products] = ['customers', 'orders', 'orderdetails', 'products'].map(
  (name) => source[name]!,
) as [Fields[], Fields[], Fields[], Fields[]];

/** Compares by several fields; `-` is for falling. Texts by code points. */
const by =
  (...keys: string[]) =>
  (a: Fields, b: Fields): number => {
    for (const key of keys) {
      const [field, sign] = key.startsWith('-') ? [key.slice(1), -1] : [key, 1];
      const [x, y] = [a[field] as string | number, b[field] as string | number];
      if (x !== y) return x < y ? -sign : sign;
    }
    return 0;
  };

const legacyIds = (records: readonly Fields[]) => records.map(({ legacy_id }) => legacy_id);
const idsOf = (records: readonly Fields[]) => records.map(({ id }) => id);
const sorted = (ids: readonly unknown[]) => (ids as number[]).toSorted((a, b) => a - b);

t.test('Northwind is inferred, imported, queried and exported', async (t) => {
  const { infer, declared, serve, env, COLLECTIONS, cwd } = await inferring(t);
  const imported = await infer(FILE);
  t.match(imported, { code: 0, err: '' });
  for (const [name, records] of Object.entries(source))
    t.match(imported.out, `${name}: ${records.length} stored, 0 refused\n`);
  const { send } = await serve();
  const page = async (path: string) => {
    const { status, json, text } = await send('GET', path);
    t.equal(status, 200, `${path} ${text.slice(0, 300)}`);
    return json as { data: Fields[]; meta: Fields; links: Record<string, string | null> };
  };
  const pages = async (path: string) => {
    const all: Fields[] = [];
    for (let next: string | null = path; next !== null; ) {
      const { data, links } = await page(next);
      all.push(...data);
      next = links.next!;
    }
    return all;
  };

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

  t.test('a filter on a reference, with the exact total', async (t) => {
    for (const old of [20, 63, 71]) {
      const expected = orders.filter(({ customerId }) => customerId === old);
      const path = `/orders?filter[customerId]=${id('customers', old)}&limit=100&count=exact`;
      const { data, meta } = await page(path);
      t.same(sorted(legacyIds(data)), sorted(idsOf(expected)));
      t.equal(meta.total, expected.length);
    }
    const large = details.filter(({ quantity }) => (quantity as number) >= 100);
    const { data, meta } = await page('/orderdetails?filter[quantity][gte]=100&limit=1&count=exact');
    t.match([data.length, meta.total], [1, large.length]);
    t.equal((await page('/orderdetails?limit=1&count=none')).meta.total, undefined);
  });

  t.test('several sort keys, over all pages', async (t) => {
    const found = await pages('/orders?sort=shipCountry,-freight,orderDate&limit=100');
    t.same(legacyIds(found), idsOf(orders.toSorted(by('shipCountry', '-freight', 'orderDate'))));
    const few = await pages('/products?filter[unitPrice][lt]=20&sort=-unitPrice,name&limit=10');
    const cheap = products.filter(({ unitPrice }) => (unitPrice as number) < 20);
    t.same(legacyIds(few), idsOf(cheap.toSorted(by('-unitPrice', 'name'))));
  });

  t.test('search', async (t) => {
    const text = (record: Fields, ...fields: string[]) =>
      fields.map((field) => String(record[field] ?? '').toLowerCase());
    const chs = products.filter((record) => text(record, 'name').some((each) => each.includes('ch')));
    t.same(sorted(legacyIds(await pages('/products?search=CH&page=1'))), sorted(idsOf(chs)));
    const found = customers.filter((record) =>
      text(record, 'companyName', 'contactName').some((each) => each.includes('maria')),
    );
    t.ok(found.length > 1);
    t.same(sorted(legacyIds(await pages('/customers?search=maria&page=1'))), sorted(idsOf(found)));
    const prefix = customers.filter(({ companyName }) => String(companyName).startsWith('B'));
    const names = await pages('/customers?filter[companyName][prefix]=B&fields=companyName&sort=companyName');
    const expected = prefix
      .toSorted(by('companyName'))
      .map(({ id: old, companyName }) => ({ id: id('customers', old), companyName }));
    t.same(names, expected, 'only the fields that were requested');
  });

  t.test('related records in both directions', async (t) => {
    const { data } = await page('/orders?sort=-freight&limit=100&include=customer,shipper,orderdetails');
    t.equal(data.length, 100);
    for (const { legacy_id, _included } of data) {
      const { customer, shipper, orderdetails } = _included as Record<string, Fields> & {
        orderdetails: Fields[];
      };
      const order = orders.find((each) => each.id === legacy_id)!;
      t.match([customer, shipper], [{ legacy_id: order.customerId }, { legacy_id: order.shipperId }]);
      const lines = details.filter(({ orderId }) => orderId === legacy_id).toSorted(by('id'));
      t.same(
        (orderdetails as Fields[]).toSorted(by('legacy_id')).map(own),
        // At most 20 are included.
        lines.slice(0, 20).map((line) => stored(line, 'orderdetails')),
      );
    }
  });

  t.test('nested lists', async (t) => {
    for (const { id: old } of orders.slice(0, 50)) {
      const { json } = await send('GET', `/orders/${id('orders', old)}/orderdetails`);
      const lines = details.filter(({ orderId }) => orderId === old);
      const expected = lines.map((line) => stored(line, 'orderdetails'));
      t.same((json as Fields[]).map(own), expected);
    }
    const mine = orders.filter(({ customerId }) => customerId === 71);
    const path = `/customers/${id('customers', 71)}/orders?sort=-freight&limit=3`;
    const { data, meta } = await page(path);
    t.same(legacyIds(data), idsOf(mine.toSorted(by('-freight'))).slice(0, 3));
    t.equal(meta.total, mine.length);
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
