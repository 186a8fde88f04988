import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Load, Outcome } from './loader.js';
import { outputOf } from './output.js';
import { nextTag, type Placeholder, split } from './request.js';

/** Loads a server by wrk, which runs a script made for the request. */
export async function loadByWrk(load: Load): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'plinth-wrk-'));
  const script = join(folder, 'request.lua');
  try {
    await writeFile(script, scriptOf(load, nextTag()));
    const { connections, seconds, url, status } = load;
    const args = ['-t1', `-c${connections}`, `-d${Math.ceil(seconds)}s`, '--timeout', '120s', '--latency'];
    // wrk takes whole seconds; interrupted before that, it reports what came until then.
    const interruptMs = Number.isInteger(seconds) ? undefined : seconds * 1000;
    return parseWrk(await outputOf('wrk', [...args, '-s', script, url], interruptMs), status);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Report {
  readonly requests: number;
  readonly microseconds: number;
  readonly p50: number;
  readonly p99: number;
  /** Responses with a status of 400 or more. */
  readonly refused: number;
  readonly broken: number;
}

/** Reads the line that the script prints at the end. wrk tells statuses from 400 apart, and no others. */
export function parseWrk(output: string, status: number): Outcome {
  const line = output.split('\n').find((text) => text.startsWith('{"requests"'));
  if (line === undefined) throw new Error(`wrk printed no report: ${output.slice(-500)}`);
  const { requests, microseconds, p50, p99, refused, broken } = JSON.parse(line) as Report;
  return {
    requests,
    rate: (requests * 1e6) / microseconds,
    p50: p50 / 1000,
    p99: p99 / 1000,
    wrong: (status < 400 ? refused : requests - refused) + broken,
  };
}

/** The script: it puts the bytes of each request together itself, which costs less than wrk.format. */
export function scriptOf({ url, request, idsFile }: Load, tag: string): string {
  const { method, path, headers, body } = request;
  const fields = Object.entries({ host: new URL(url).host, ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  const head = `${method} ${path} HTTP/1.1\r\n${fields.join('\r\n')}\r\n`;
  const usesIds = `${path}${body ?? ''}`.includes('{id}');
  return `local ids = {}
${usesIds ? `for line in io.lines(${quote(idsFile)}) do ids[#ids + 1] = line end` : ''}
local count = 0
local function unique() count = count + 1 return ${quote(tag)} .. count end
math.randomseed(os.time())
function request()
  ${body === undefined ? `return ${expression(`${head}\r\n`)}` : withBody(head, body)}
end
${REPORT}`;
}

const REPORT = `function done(summary, latency)
  local e = summary.errors
  print(string.format('{"requests":%d,"microseconds":%d,"p50":%.1f,"p99":%.1f,"refused":%d,"broken":%d}',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), e.status,
    e.connect + e.read + e.write + e.timeout))
end
`;

function withBody(head: string, body: string): string {
  return `local body = ${expression(body)}
  return ${expression(`${head}content-length: `)} .. #body .. "\\r\\n\\r\\n" .. body`;
}

const VALUES: Readonly<Record<Placeholder, string>> = {
  id: 'ids[math.random(#ids)]',
  unique: 'unique()',
  number: 'math.random(0, 149)',
};

/** A template as a Lua expression. */
function expression(template: string): string {
  const { texts, placeholders } = split(template);
  return texts
    .map((text, index) => `${index ? `${VALUES[placeholders[index - 1]!]} .. ` : ''}${quote(text)}`)
    .join(' .. ');
}

/** A Lua string that means exactly these bytes. */
function quote(text: string): string {
  const escaped = text.replace(/[^\w /:.,{}=-]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `\\${String(byte).padStart(3, '0')}`).join(''),
  );
  return `"${escaped}"`;
}

/** Requests that were made before: one a line, its path and its header fields parted by tabs. With bodies, each is a POST of JSON, and its body is the last part. */
export interface Prepared {
  readonly url: string;
  readonly file: string;
  readonly connections: number;
  readonly seconds: number;
  /** Each is sent once, and the load ends before the last ones; else they come again. */
  readonly once: boolean;
  readonly hasBodies?: boolean;
}

/** Takes the body of a prepared request from the end of its header fields. */
const POSTED = `method = 'POST'
  fields, body = fields:match('(.*)\\t([^\\t]*)')
  fields = fields .. '\\tcontent-type: application/json\\tcontent-length: ' .. #body`;

/** Loads a server with requests of a file. */
export async function loadPrepared({
  url,
  file,
  connections,
  seconds,
  once,
  hasBodies = false,
}: Prepared): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'plinth-wrk-'));
  const script = join(folder, 'request.lua');
  try {
    await writeFile(
      script,
      `local requests, count = {}, 0
for line in io.lines(${quote(file)}) do
  local path, fields = line:match('([^\\t]*)\\t?(.*)')
  local method, body = 'GET', ''
  ${hasBodies ? POSTED : ''}
  if fields ~= '' then fields = fields:gsub('\\t', '\\r\\n') .. '\\r\\n' end
  requests[#requests + 1] = method .. ' ' .. path .. ' HTTP/1.1\\r\\nhost: ${new URL(url).host}\\r\\n' .. fields .. '\\r\\n' .. body
end
function request()
  count = count + 1
  ${once ? 'if count >= #requests - 200 then wrk.thread:stop() end' : 'if count > #requests then count = 1 end'}
  return requests[count] or requests[#requests]
end
${REPORT}`,
    );
    const args = [
      '-t1',
      `-c${connections}`,
      `-d${seconds}s`,
      '--timeout',
      '120s',
      '--latency',
      '-s',
      script,
      url,
    ];
    return parseWrk(await outputOf('wrk', args), 200);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
