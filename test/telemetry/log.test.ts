import { pino } from 'pino';
import { createLog, type Log } from '../../src/telemetry/log.js';
import t from '../support/test.js';

/** An error with a cause, and fields as those of the driver. */
function failure(): Error {
  const cause = Object.assign(new TypeError('inner "quoted"'), { cause: new RangeError('innermost') });
  return Object.assign(new Error('outer\nline', { cause }), {
    code: '23505',
    errno: -2,
    detail: undefined,
    nested: Object.assign(new Error('nested'), { more: [1, null] }),
    run: () => 1,
  });
}

class Inherited extends Error {
  override readonly name = 'Named';
}
Object.assign(Inherited.prototype, { inherited: 'field' });

const CASES: readonly (readonly [title: string, ...args: readonly unknown[]])[] = [
  ['a message', 'started'],
  ['an empty message', ''],
  ['a message with characters that JSON escapes', 'a "b" \\ \n \u0000 \u2028 é 😀'],
  ['a long message', 'a "long" one '.repeat(20)],
  ['fields and a message', { a: 1, b: 'x', c: true, d: null, e: [1, { f: 'g' }], url: '/a?b="c"' }, 'done'],
  ['fields alone', { ms: 1.5 }],
  ['no fields', {}, 'done'],
  ['a message among the fields', { msg: 'own' }],
  [
    'values that JSON has not',
    { a: undefined, b: () => 1, c: Number.NaN, d: Number.POSITIVE_INFINITY, e: Symbol('s') },
    'x',
  ],
  ['a date, and a value with toJSON', { at: new Date(0), own: { toJSON: () => 'own' } }, 'x'],
  ['an error', { err: failure() }, 'failed'],
  ['an error without a message of the line', { err: failure() }],
  ['an error and a message among the fields', { err: failure(), msg: 'own' }],
  ['an error alone', failure()],
  ['an error alone with a message', failure(), 'failed'],
  ['an error of a class', { err: new Inherited('a') }, 'x'],
  ['several errors', { err: new AggregateError([new Error('a'), 'b', new TypeError('c')], 'all') }, 'x'],
  ['an error elsewhere', { reason: new Error('lost') }, 'x'],
  ['what is no error', { err: 'text' }, 'x'],
  ['no error', { err: undefined }, 'x'],
  ['what looks like an error', { err: { message: 'm', code: 1 } }, 'x'],
];

t.test('each line is that of pino', (t) => {
  const [own, others]: string[][] = [[], []];
  const withoutTime = (line: string | undefined) => line?.replace(/"time":\d+/, '"time":0');
  const log = createLog('trace', { write: (line) => own!.push(line) });
  const reference = pino({ level: 'trace', base: null }, { write: (line: string) => others!.push(line) });
  for (const [title, ...args] of CASES)
    for (const level of ['debug', 'info', 'warn', 'error', 'fatal'] as const) {
      (log[level] as (...args: unknown[]) => void)(...args);
      (reference[level] as (...args: unknown[]) => void)(...args);
      t.equal(withoutTime(own!.at(-1)), withoutTime(others!.at(-1)), `${level}: ${title}`);
    }
  t.equal(own!.length, 5 * CASES.length);
  t.end();
});

t.test('errors that contain each other end, and so do values that contain themselves', (t) => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => lines.push(line) });
  const [first, second] = [new Error('first'), new Error('second')];
  Object.assign(first, { cause: second, other: second });
  Object.assign(second, { cause: first, other: first });
  log.error({ err: first }, 'x');
  t.match(JSON.parse(lines[0]!).err, { message: 'first: second', other: { message: 'second: first' } });
  const value: Record<string, unknown> = { number: 10n };
  value.self = value;
  log.error({ value }, 'x');
  t.same(JSON.parse(lines[1]!).value, { number: '10', self: '[Circular]' });
  t.end();
});

t.test('only lines from the level on are written', (t) => {
  const levels = ['debug', 'info', 'warn', 'error', 'fatal'] as const;
  const written = (level: string) => {
    const lines: string[] = [];
    const log: Log = createLog(level, { write: (line) => lines.push(line) });
    for (const each of levels) log[each](each);
    return lines.map((line) => JSON.parse(line).msg);
  };
  t.same(written('trace'), levels);
  t.same(written('debug'), levels);
  t.same(written('warn'), ['warn', 'error', 'fatal']);
  t.same(written('fatal'), ['fatal']);
  t.same(written('silent'), []);
  t.end();
});
