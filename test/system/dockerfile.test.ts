import { readFileSync } from 'node:fs';
import t from '../support/test.js';

const ROOT = new URL('../../../', import.meta.url);
// Plain JavaScript, which nothing but the build needs.
const { lint } = (await import(new URL('.ci/dockerfile.js', ROOT).href)) as {
  lint(text: string): string[];
};
const VALID = readFileSync(new URL('Dockerfile', ROOT), 'utf8');

t.test('the Dockerfile has no faults', async (t) => t.same(lint(VALID), []));

/** A change to it, and what is then wrong. */
const BAD: [from: string | RegExp, to: string, fault: RegExp][] = [
  [/FROM node:\S+\nENV/, 'FROM node:24\nENV', /not pinned/],
  [/FROM node:\S+\nENV/, 'FROM node\nENV', /not pinned/],
  ['USER 1000:1000', 'USER root', /other than root/],
  ['USER 1000:1000', 'USER 0:0', /other than root/],
  ['USER 1000:1000\n', '', /0 USER, not one/],
  ['CMD ["node", "dist/start.cjs"]', 'CMD node dist/start.cjs', /CMD is not in exec form/],
  ['CMD ["bash", "dist/health.sh"]', 'CMD curl localhost', /HEALTHCHECK is not in exec form/],
  ['CMD ["bash", "dist/health.sh"]', 'CMD ["curl", "localhost"]', /need not have/],
  [/HEALTHCHECK.*\n/, '', /0 HEALTHCHECK/],
  ['STOPSIGNAL SIGTERM\n', '', /0 STOPSIGNAL/],
  ['EXPOSE 3000', 'EXPOSE 80', /EXPOSE is not the PORT/],
  ['RUN ["npm", "ci", "--ignore-scripts"]', 'RUN ["npm", "install"]', /other versions than the lock file/],
  ['COPY src src', 'COPY . .', /takes the whole folder/],
  ['--from=build', '--from=builder', /is no stage/],
  ['WORKDIR /app', 'WORKDIR app', /not an absolute path/],
  ['COPY sql sql', 'ADD sql sql', /ADD is not to be used/],
  ['ENV NODE_ENV=production', 'ENV DATABASE_URL=postgres://a:b@c/d', /holds a secret/],
  ['USER 1000:1000', 'RUN ["true"]\nUSER 1000:1000', /runs something/],
];

for (const [from, to, fault] of BAD) {
  t.test(`it finds ${fault.source} in ${to.trim() || `one without ${from}`}`, async (t) => {
    const text = VALID.replace(from, to);
    t.not(text, VALID);
    t.ok(
      lint(text).some((line) => fault.test(line)),
      lint(text).join('\n'),
    );
  });
}

t.test('what it cannot read is an error', async (t) => {
  t.throws(() => lint('RUN ["a"]'), /before FROM/);
  t.throws(() => lint('FROM node:22.1.0\nRUN <<EOF\nEOF'), /cannot be read/);
});
