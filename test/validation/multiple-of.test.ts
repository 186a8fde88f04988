import { multipleOf } from '../../src/validation/multiple-of.js';
import { declare } from '../support/collections.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';

t.test('multiples are those of the decimal numbers that are written', async (t) => {
  const rows: [value: string, of: string, isMultiple: boolean][] = [
    ...['19.99', '8.69', '1.11', '0.07', '4.35', '-19.99', '0', '1e2', '1e22', '123456789012.34'].map(
      (value): [string, string, boolean] => [value, '0.01', true],
    ),
    ...['1.005', '0.001', '1e-7', '19.990000000000002', '-0.015'].map((value): [string, string, boolean] => [
      value,
      '0.01',
      false,
    ]),
    ['0.3', '0.1', true],
    ['0.30000000000000004', '0.1', false],
    ['999999999999.99', '0.01', true],
    ['9999999999999.99', '0.01', true],
    ['9999999999999.995', '0.01', false],
    ['1e-300', '1', false],
    ['-0', '0.5', true],
    ['1e-7', '1e-8', true],
    ['1.5e-7', '1e-7', false],
    ['1e308', '1e-308', true],
    ['1e308', '3', false],
    ['9007199254740993', '2', true],
    ['7', '2', false],
    ['7.5', '2.5', true],
    ['1', '3e-1', false],
    ['1e21', '7', false],
    ['7e21', '7', true],
  ];
  for (const [value, of, expected] of rows)
    t.equal(multipleOf(Number(of))(Number(value)), expected, `${value} of ${of}`);
  // A comparison with integers: each is a number of thousandths.
  for (let value = -3000; value < 3000; value++)
    t.equal(multipleOf(0.07)(Number(`${value}e-3`)), value % 70 === 0, `${value} thousandths`);
});

t.test('each transport validates multipleOf in decimal', async (t) => {
  const price = { type: 'number', multipleOf: 0.01 };
  const properties = { price, prices: { type: 'array', items: { anyOf: [price, { type: 'null' }] } } };
  const folder = declare(t, { 'offers.json': { title: 'Offer', type: 'object', properties } });
  const { send } = await testService(t, { COLLECTIONS: folder, MIGRATE: 'auto' });
  const created = await send('POST', '/offers', { body: { price: 19.99, prices: [8.69, 1.11] } });
  t.equal(created.status, 201);
  const path = `/offers/${created.json.id}`;
  t.equal((await send('PATCH', path, { body: { price: 4.35 } })).status, 200);
  t.match(await send('PATCH', path, { body: { price: 1.005 } }), {
    status: 400,
    json: { errors: [{ path: '/price', keyword: 'multipleOf', message: 'must be a multiple of 0.01' }] },
  });
  t.equal((await send('PUT', path, { body: { prices: [1.005] } })).status, 400);
});
