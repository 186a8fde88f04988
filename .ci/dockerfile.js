import { readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Checks the Dockerfile and runs its lines but FROM in plain folders. Exits with 1 when something is wrong. */

/** @typedef {{ line: number, name: string, flags: Record<string, string>, text: string, exec: string[] | undefined }} Instruction */
/** @typedef {{ from: string, name: string, instructions: Instruction[] }} Stage */

/** The stages of a Dockerfile. Throws on what it does not read: ONBUILD, here-documents, parser directives. */
export function parse(text) {
  const stages = [];
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; at++) {
    const line = at + 1;
    let whole = lines[at];
    if (/^\s*(#|$)/.test(whole)) continue;
    while (whole.endsWith('\\')) whole = whole.slice(0, -1) + (lines[++at] ?? '');
    const [, name, rest] = /^\s*([A-Za-z]+)\s+(.*)$/.exec(whole) ?? [];
    if (name === undefined || rest.includes('<<')) throw new Error(`line ${line}: cannot be read`);
    const instruction = { line, name: name.toUpperCase(), ...argumentsOf(rest.trim()) };
    if (instruction.name === 'FROM') {
      const [from, , as] = instruction.text.split(/\s+/);
      stages.push({ from, name: as ?? String(stages.length), instructions: [] });
    } else if (stages.length === 0) throw new Error(`line ${line}: before FROM`);
    else stages.at(-1).instructions.push(instruction);
  }
  return stages;
}

function argumentsOf(rest) {
  const [leading] = /^(?:--\S+\s+)*/.exec(rest);
  const flags = Object.fromEntries(
    [...leading.matchAll(/--([\w-]+)(?:=(\S+))?/g)].map(([, name, value = '']) => [name, value]),
  );
  const text = rest.slice(leading.length);
  const command = text.replace(/^CMD\s+/, '');
  return { flags, text, exec: command.startsWith('[') ? JSON.parse(command) : undefined };
}

const KNOWN = [
  'ARG',
  'CMD',
  'COPY',
  'ENTRYPOINT',
  'ENV',
  'EXPOSE',
  'HEALTHCHECK',
  'LABEL',
  'RUN',
  'STOPSIGNAL',
  'USER',
  'WORKDIR',
];
const SECRET = /(password|secret|token|database_url|api_key)\s*=\s*\S/i;

/** What is wrong with a Dockerfile, a line each. */
export function lint(text) {
  const faults = [];
  const stages = parse(text);
  for (const { from } of stages)
    if (
      !/^[\w./-]+:(\d+\.\d+\.\d+[\w.-]*)(@sha256:[0-9a-f]{64})?$/.test(from) &&
      !/@sha256:[0-9a-f]{64}$/.test(from)
    )
      faults.push(`FROM ${from}: the base is not pinned to a whole version`);
  for (const { line, name, exec, text: of, flags } of stages.flatMap(({ instructions }) => instructions)) {
    const wrong = (why) => faults.push(`line ${line}: ${name} ${why}`);
    if (!KNOWN.includes(name)) wrong('is not to be used here');
    if (['CMD', 'ENTRYPOINT', 'HEALTHCHECK', 'RUN'].includes(name) && !exec)
      wrong('is not in exec form, and needs a shell');
    if (name === 'WORKDIR' && !of.startsWith('/')) wrong('is not an absolute path');
    if (name === 'COPY' && flags.from === undefined && of.split(/\s+/).slice(0, -1).includes('.'))
      wrong('takes the whole folder');
    if (name === 'COPY' && flags.from !== undefined && !stages.some((stage) => stage.name === flags.from))
      wrong(`is from ${flags.from}, which is no stage`);
    if (['ENV', 'ARG', 'LABEL'].includes(name) && SECRET.test(of)) wrong('holds a secret');
    if (name === 'RUN' && exec?.[0] === 'npm' && exec[1] === 'install')
      wrong('takes other versions than the lock file: npm ci');
    if (exec?.some((word) => /^(curl|wget|sudo|sh)$/.test(word)))
      wrong('runs a program that the image need not have');
  }
  return [...faults, ...lintLast(stages.at(-1))];
}

/** The stage that becomes the image. */
function lintLast({ instructions }) {
  const faults = [];
  const of = (name) => instructions.filter((instruction) => instruction.name === name);
  for (const name of ['USER', 'CMD', 'HEALTHCHECK', 'STOPSIGNAL', 'EXPOSE'])
    if (of(name).length !== 1) faults.push(`the image has ${of(name).length} ${name}, not one`);
  const user = of('USER')[0];
  if (user && !/^[1-9]\d*(:[1-9]\d*)?$/.test(user.text))
    faults.push(`line ${user.line}: USER is not the number of a user other than root`);
  if (user && instructions.some(({ name, line }) => name === 'RUN' && line > user.line))
    faults.push('RUN after USER');
  if (of('RUN').length > 0)
    faults.push('the image runs something while it is made: leave that to the stage before');
  const port = /\bPORT=(\d+)/.exec(
    of('ENV')
      .map(({ text }) => text)
      .join(' '),
  )?.[1];
  if (of('EXPOSE')[0]?.text !== port) faults.push(`EXPOSE is not the PORT of ENV, ${port}`);
  return faults;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const root = fileURLToPath(new URL('../', import.meta.url));
  const text = readFileSync(`${root}/Dockerfile`, 'utf8');
  const faults = lint(text);
  for (const fault of faults) process.stderr.write(`Dockerfile: ${fault}\n`);
  if (faults.length > 0) process.exit(1);
  // Loaded here, since it needs what tsc has made.
  const { exercise } = await import('./exercise.js');
  await exercise(root, parse(text));
}
