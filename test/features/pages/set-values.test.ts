import t from '../../support/test.js';
import { CHANGED, CREATED, callers } from '../../support/tickets.js';
import { connect } from '../mcp/session.js';
import { PageVisitor } from './visitor.js';

t.test('MCP, forms, json-server and the OpenAPI document', async (t) => {
  const { ann, bob, projectId, ...rest } = await callers(t, { MCP: 'on' });
  const headers = { 'x-api-key': ann.key };
  const { client, call } = await connect(t, rest.url, headers);
  const record = { title: 'mcp', projectId, kind: 'bug' };
  const called = await call('tickets_create', { record });
  t.match(called.value, { record: CREATED });
  t.match((await call('tickets_create', { record: { ...record, createdBy: 'x' } })).isError, true);
  const { tools } = await client.listTools();
  const schemaOf = (name: string) => JSON.stringify(tools.find((tool) => tool.name === name)!.inputSchema);
  for (const tool of ['tickets_create', 'tickets_update'])
    t.notMatch(schemaOf(tool), /createdBy|changedAt/, tool);
  t.match(schemaOf('tickets_create'), /"kind"/);

  const visitor = new PageVisitor(rest, headers);
  const list = await visitor.get('/tickets?_new');
  t.match(list.text, 'name="/kind"');
  t.notMatch(list.text, /name="\/(createdBy|createdAt|changedBy|changedAt)"/);
  const done = await visitor.submit(t, list, 'Create', { '/title': 'form', '/projectId': projectId });
  t.equal(done.status, 303);
  const path_ = done.headers.location!.split('?')[0]!;
  t.match(await visitor.text(path_), />ann</);
  const related = /<a [^>]*>form<\/a> <span class="dim">ann<\/span> <span class="dim"><time /;
  t.match(await visitor.text(`/projects/${projectId}`), related, 'who created a related record, and when');
  const page = await visitor.get(`${path_}?_edit`);
  t.notMatch(page.text, /name="\/(createdBy|kind|projectId)"/, 'what does not change is no input');

  const { schemas } = (await ann('GET', '/openapi.json')).json.components;
  t.match(schemas.TicketsRecord.properties.createdBy, { type: 'string', readOnly: true });
  t.notOk('createdBy' in schemas.TicketsRecordInput.properties);
  t.ok('kind' in schemas.TicketsRecordInput.properties);
  t.notOk('kind' in schemas.TicketsRecordPatch.properties);

  const compatible = await callers(t, { COMPAT: 'json-server' });
  const body = { title: 'json', projectId: compatible.projectId };
  const created = await compatible.ann('POST', '/tickets', body);
  t.match(created, { status: 201, json: CREATED });
  const path = `/tickets/${created.json.id}`;
  t.match(await compatible.bob('PATCH', path, { status: 'x' }), { status: 200, json: CHANGED });
  t.equal((await compatible.bob('PATCH', path, { createdBy: 'bob' })).status, 400);
  t.equal((await compatible.bob('POST', '/tickets', { ...body, createdBy: 'bob' })).status, 400);
});
