import { buffer } from 'node:stream/consumers';
import { parse } from '../../cli/arguments.js';
import { type Io, inputText, UsageError } from '../../cli/io.js';
import { ExitError } from '../../errors/exit-error.js';
import { COMMANDS } from './commands.js';
import { type VerifyOptions, verifyWebhook, WebhookError } from './verify.js';

/**
 * Verifies a message whose body is on the standard input. Its secrets, one a line, are in WEBHOOK_SECRET or a file: other
 * users of the machine can read arguments. Throws UsageError, and ExitError with the reason when the message is not
 * authentic.
 */
export async function verifyCommand(args: string[], io: Io, secretInEnv: string | undefined): Promise<void> {
  const { values } = parse(COMMANDS, 'verify-webhook', '', args);
  const { path, tolerance } = values;
  const scheme = values.scheme as VerifyOptions['scheme'];
  const linesOf = (file: string | undefined) => (file === undefined ? [] : linesIn(inputText(io, file)));
  const fields = [...(values.header ?? []), ...linesOf(values.headers)];
  const secretFile = values['secret-file'];
  const secrets = secretFile === undefined ? linesIn(secretInEnv ?? '') : linesOf(secretFile);
  if (fields.length === 0)
    throw new UsageError('verify-webhook needs --header or --headers', 'verify-webhook');
  if (secrets.length === 0)
    throw new UsageError('verify-webhook needs WEBHOOK_SECRET or --secret-file', 'verify-webhook');
  if (tolerance !== undefined && !/^\d{1,9}$/.test(tolerance))
    throw new UsageError('--tolerance must be a number of seconds', 'verify-webhook');
  const body = await buffer(io.stdin);
  try {
    const { id, timestamp } = verifyWebhook(body, Object.fromEntries(fields.flatMap(parseField)), secrets, {
      ...(scheme === undefined ? {} : { scheme }),
      ...(path === undefined ? {} : { path }),
      ...(tolerance === undefined ? {} : { toleranceSeconds: Number(tolerance) }),
    });
    io.stdout.write(`${JSON.stringify({ id: id ?? null, timestamp })}\n`);
  } catch (error) {
    throw error instanceof WebhookError ? new InvalidMessage(error) : error;
  }
}

class InvalidMessage extends ExitError {
  constructor(readonly reason: WebhookError) {
    super(`${reason.code}: ${reason.message}`);
  }

  override get code(): string {
    return this.reason.code;
  }
}

/** The header field of a line; none for a request line, which `curl -v` and dumps of servers include. */
function parseField(line: string): [name: string, value: string][] {
  const colon = line.indexOf(':');
  const name = line.slice(0, Math.max(0, colon));
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return [];
  return [[name.toLowerCase(), line.slice(colon + 1).trim()]];
}

function linesIn(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line.trim() !== '');
}
