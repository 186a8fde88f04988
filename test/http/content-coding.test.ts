import { bodyCoding, negotiateCoding, RESPONSE_CODINGS } from '../../src/http/content-coding.js';
import t from '../support/test.js';

const [PREFERRED] = RESPONSE_CODINGS;

t.test('Accept-Encoding selects a coding (RFC 9110 section 12.5.3)', async (t) => {
  const cases: [string | undefined, string | undefined, boolean][] = [
    [undefined, undefined, false],
    ['', undefined, false],
    ['gzip', 'gzip', false],
    ['GZip', 'gzip', false],
    ['x-gzip', 'gzip', false],
    ['br', 'br', false],
    ['gzip, deflate, br', 'br', false],
    ['gzip;q=1.0, br;q=0.9', 'gzip', false],
    ['gzip ; q=0.5 , br ; Q=0.4', 'gzip', false],
    ['gzip;q=0', undefined, false],
    ['gzip;q=0.000, br;q=0', undefined, false],
    ['compress', undefined, false],
    ['deflate', undefined, false],
    ['identity', undefined, false],
    ['identity;q=0', undefined, true],
    ['identity;q=0, gzip', 'gzip', true],
    ['identity, gzip', 'gzip', false],
    ['identity;q=1, gzip;q=0.5', undefined, false],
    ['identity;q=0.5, gzip;q=0.5', 'gzip', false],
    ['*', PREFERRED, false],
    ['*;q=0', undefined, true],
    ['*;q=0, identity', undefined, false],
    ['*;q=0, gzip', 'gzip', true],
    ['gzip;q=0, *', PREFERRED, false],
    ['br;q=0, zstd;q=0, *;q=0.1', 'gzip', false],
    ['identity;q=0, *', PREFERRED, true],
    ['gzip;q=2', 'gzip', false],
    [', ,gzip,', 'gzip', false],
    [`${'x,'.repeat(40)}gzip`, undefined, false],
  ];
  for (const [header, coding, refusesIdentity] of cases) {
    t.same(negotiateCoding(header), { coding, refusesIdentity }, `${header}`);
    t.same(negotiateCoding(header), { coding, refusesIdentity }, `${header}, again`);
  }
  for (let at = 0; at < 1000; at++) t.equal(negotiateCoding(`gzip, a${at}`).coding, 'gzip');
});

t.test('Content-Encoding of a body', async (t) => {
  for (const header of [undefined, '', 'identity', ' Identity '])
    t.equal(bodyCoding(header), undefined, `${header}`);
  for (const coding of ['gzip', 'br', 'deflate']) t.equal(bodyCoding(coding.toUpperCase()), coding);
  t.equal(bodyCoding('x-gzip'), 'gzip');
  for (const header of ['x', 'compress', 'gzip, br', 'gzip, identity', '*'])
    t.equal(bodyCoding(header), 'unknown');
});
