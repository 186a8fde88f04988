import { batchWrites, type Write } from '../../src/collection/write-batching.js';
import { POSTGRESQL } from '../../src/database-url/engine.js';
import type { Run } from '../../src/db/db.js';
import { sharing } from '../../src/telemetry/instruments.js';
import { createDbMetrics } from '../../src/telemetry/metrics.js';
import t from '../support/test.js';

t.test('a statement writes each record once, and names the caller of that write', async (t) => {
  const statements: unknown[][] = [];
  const run: Run = async (_text, args) => {
    statements.push([...args]);
    return (JSON.parse(String(args[0])) as unknown[]).map((_, at) => ({ key: at + 1 }));
  };
  const alone: string[] = [];
  const write = batchWrites<Write, unknown>(
    { run, engine: POSTGRESQL },
    {
      text: '',
      columnNames: [],
      resultOf: ({ stored }) => stored,
      writeSingle: async (_run, { actor }) => void alone.push(actor!),
      sharing: sharing(createDbMetrics(), 'replace', 'items'),
    },
  );
  const writeOf = (id: string, actor: string): Write => ({
    stored: { id, version: 2, doc: '{}' } as Write['stored'],
    updatedAt: '2026-01-01T00:00:00.000Z',
    columns: [],
    actor,
  });
  const writes = [writeOf('b', 'ann'), writeOf('a', 'eve'), writeOf('b', 'bob'), writeOf('b', 'kim')];
  await Promise.all(writes.map(write));
  t.equal(statements.length, 1);
  const [[rows, actors]] = statements as [[string, string]];
  t.match(JSON.parse(rows), [{ id: 'a' }, { id: 'b' }]);
  t.same(JSON.parse(actors), { a: 'eve', b: 'ann' });
  t.same(alone, ['bob', 'kim'], 'the others find out that the record has changed');
});
