import { NAMES, serviceWithThings } from '../../support/peculiar-fields.js';
import t from '../../support/test.js';
import { connect } from './session.js';

t.test('the tools of agents take the names as they are', async (t) => {
  const service = await serviceWithThings(t, { MCP: 'on' });
  const { call } = await connect(t, service.url);
  for (const name of NAMES) {
    const { isError, value } = await call('things_list', {
      filter: { [name]: { in: ['v1', 'v2'] } },
      sort: [name, 'created_at'],
      fields: [name],
    });
    t.notOk(isError, JSON.stringify(value));
    t.same(
      value.data?.map((each: Record<string, string>) => each[name]),
      ['v1', 'v2'],
      name,
    );
    const one = await call('things_get', { id: value.data[0].id, fields: [name] });
    t.equal(one.value.record[name], 'v1', name);
  }
});
