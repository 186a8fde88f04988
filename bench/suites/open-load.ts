import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { filler, nextTag, type Request } from '../harness/request.js';
import { quantile } from '../harness/stats.js';

/** Time that is spent on sending at once. */
const MAX_MS = 2;

/** A load that comes at its own rate, whatever the responses are. */
export interface OpenLoad {
  readonly url: string;
  readonly request: Request;
  readonly idsFile: string;
  /** Requests a second. */
  readonly rate: number;
  /** Opened before the load begins, each with one request at a time; what finds none free is not sent, and is counted. */
  readonly connections: number;
  readonly seconds: number;
  /** Seconds at the start that are not counted. */
  readonly warm: number;
}

/** The result: requests a second, and times from sending to the whole response in milliseconds. */
export interface OpenOutcome {
  readonly sent: number;
  readonly unsent: number;
  readonly good: number;
  readonly refused: number;
  readonly other: number;
  readonly broken: number;
  readonly p50: number;
  readonly p99: number;
  readonly refusedP99: number;
}

/** The process that makes it: takes an OpenLoad as its argument, prints an OpenOutcome. */
const load = JSON.parse(process.argv[2]!) as OpenLoad;
const { hostname, port, host } = new URL(load.url);
const ids = readFileSync(load.idsFile, 'utf8').trim().split('\n');
const tag = `${nextTag()}${process.pid}n`;
const pathOf = filler(load.request.path, ids, tag);
const bodyOf = filler(load.request.body ?? '', ids, tag);
const fields = Object.entries({ host, ...load.request.headers }).map(
  ([name, value]) => `${name}: ${value}\r\n`,
);
const head = ` HTTP/1.1\r\n${fields.join('')}`;

interface Line {
  readonly socket: Socket;
  isFree: boolean;
  sentAt: number;
  /** Bytes that are still to come of the response; undefined: its header section has not come. */
  left: number | undefined;
  status: number;
  text: string;
}

const free: Line[] = [];
let counting = false;
const counts = { sent: 0, unsent: 0, good: 0, refused: 0, other: 0, broken: 0 };
const times: number[] = [];
const refusedTimes: number[] = [];

function message(): string {
  const { method, body } = load.request;
  if (body === undefined) return `${method} ${pathOf()}${head}\r\n`;
  const content = bodyOf();
  return `${method} ${pathOf()}${head}content-length: ${Buffer.byteLength(content)}\r\n\r\n${content}`;
}

/** Done when it is connected. One that is closed is not opened again. */
function openLine(): Promise<void> {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const line: Line = { socket, isFree: false, sentAt: 0, left: undefined, status: 0, text: '' };
  socket.on('data', (bytes: Buffer) => line.isFree || take(line, bytes));
  socket.on('close', () => {
    if (line.isFree) free.splice(free.indexOf(line), 1);
    else if (counting) counts.broken++;
  });
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.once('connect', () => {
      line.isFree = true;
      free.push(line);
      resolve();
    });
  });
}

/** The bytes of a response with a Content-Length, which all that is measured here have. */
function take(line: Line, bytes: Buffer): void {
  if (line.left === undefined) {
    line.text += bytes.toString('latin1');
    const end = line.text.indexOf('\r\n\r\n');
    if (end < 0) return;
    line.status = Number(line.text.slice(9, 12));
    const at = line.text.indexOf('Content-Length: ');
    line.left =
      (at < 0 ? 0 : Number.parseInt(line.text.slice(at + 16, at + 26), 10)) - (line.text.length - end - 4);
    line.text = '';
  } else line.left -= bytes.length;
  if (line.left <= 0) finish(line);
}

function finish(line: Line): void {
  line.left = undefined;
  line.isFree = true;
  free.push(line);
  if (!counting) return;
  const ms = performance.now() - line.sentAt;
  if (line.status < 300) {
    counts.good++;
    times.push(ms);
  } else if (line.status === 503) {
    counts.refused++;
    refusedTimes.push(ms);
  } else counts.other++;
}

/** On any connection that is free: each arrival is a client of its own. */
function sendOne(now: number): void {
  const at = Math.floor(Math.random() * free.length);
  const line = free[at]!;
  free[at] = free[free.length - 1]!;
  free.pop();
  line.isFree = false;
  line.sentAt = now;
  line.socket.write(message());
  if (counting) counts.sent++;
}

await Promise.all(Array.from({ length: load.connections }, openLine));
const start = performance.now();
const countFrom = start + load.warm * 1000;
const end = countFrom + load.seconds * 1000;
let arrived = 0;

function tick(): void {
  const now = performance.now();
  counting = now >= countFrom;
  if (now >= end) return report();
  const due = Math.floor(((now - start) / 1000) * load.rate);
  // Also on a machine that cannot send so many, responses must be read.
  const until = now + MAX_MS;
  for (; arrived < due; arrived++) {
    if (free.length === 0) {
      if (counting) counts.unsent += due - arrived;
      arrived = due;
      break;
    }
    sendOne(performance.now());
    if (arrived % 16 === 0 && performance.now() > until) {
      if (counting) counts.unsent += due - arrived - 1;
      arrived = due;
      break;
    }
  }
  setTimeout(tick, 1);
}

function report(): void {
  const outcome: OpenOutcome = {
    ...counts,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    refusedP99: quantile(refusedTimes, 0.99),
  };
  process.stdout.write(JSON.stringify(outcome), () => process.exit(0));
}

tick();
