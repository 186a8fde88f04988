import { parseTraceparent } from '../../src/telemetry/tracing.js';
import t from '../support/test.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

t.test('a traceparent gives the trace and the span of the caller', async (t) => {
  const found = { traceId: TRACE, spanId: SPAN };
  t.same(parseTraceparent(`00-${TRACE}-${SPAN}-01`), found);
  t.same(parseTraceparent(`00-${TRACE}-${SPAN}-00`), found);
  t.same(parseTraceparent(`cc-${TRACE}-${SPAN}-01`), found, 'a later version');
  t.same(parseTraceparent(`cc-${TRACE}-${SPAN}-01-what-comes`), found, 'with more than we know');
});

const NONE: Record<string, string | string[] | undefined> = {
  'no field': undefined,
  'an empty one': '',
  'version ff': `ff-${TRACE}-${SPAN}-01`,
  'more after version 00': `00-${TRACE}-${SPAN}-01-more`,
  'more without a dash': `cc-${TRACE}-${SPAN}-01more`,
  'a trace of zeros': `00-${'0'.repeat(32)}-${SPAN}-01`,
  'a span of zeros': `00-${TRACE}-${'0'.repeat(16)}-01`,
  'capital letters': `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  'a short trace': `00-${TRACE.slice(1)}-${SPAN}-01`,
  'no flags': `00-${TRACE}-${SPAN}`,
  'no hexadecimal': `00-${TRACE.replace('4', 'g')}-${SPAN}-01`,
  'a line end': `00-${TRACE}-${SPAN}-01\n`,
  'space around': ` 00-${TRACE}-${SPAN}-01`,
  'two fields': `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  'a list': [`00-${TRACE}-${SPAN}-01`],
  'far too much': `cc-${TRACE}-${SPAN}-01-${'x'.repeat(1000)}`,
};

for (const [what, field] of Object.entries(NONE))
  t.test(`${what} is no traceparent`, async (t) => {
    t.equal(parseTraceparent(field), undefined);
  });
