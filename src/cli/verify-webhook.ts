import { readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { verifyWebhook, WebhookError } from '../webhooks/verify.js';

export const VERIFY_USAGE = `       plinth verify-webhook (--header 'NAME: VALUE'... | --headers FILE)
                             [--secret-file FILE] [--tolerance SECONDS]
                             [--scheme standard-webhooks|x-signature] [--path PATH]`;

/** What a command line of `verify-webhook` got wrong, told in one line. */
export class VerifyUsageError extends Error {}

/**
 * Verifies a message whose body comes on the standard input and whose secrets, one a line, are in WEBHOOK_SECRET
 * or a file: never in the arguments, which others on the machine can read. Gives the exit code: 0 when it is to be
 * believed, else 1 with the reason on the standard error output. Throws VerifyUsageError.
 */
export async function verifyCommand(
  args: string[],
  secretInEnv: string | undefined,
  input: NodeJS.ReadableStream,
): Promise<number> {
  const options = optionsOf(args);
  const lines = [...(options.header ?? []), ...(options.headers ? linesOf(options.headers) : [])];
  const secrets = options['secret-file'] ? linesOf(options['secret-file']) : linesIn(secretInEnv ?? '');
  if (lines.length === 0) throw new VerifyUsageError('verify-webhook takes --header or --headers');
  if (secrets.length === 0)
    throw new VerifyUsageError('verify-webhook takes WEBHOOK_SECRET or --secret-file');
  const { path, tolerance, scheme } = options;
  if (scheme !== undefined && scheme !== 'standard-webhooks' && scheme !== 'x-signature')
    throw new VerifyUsageError('--scheme takes standard-webhooks or x-signature');
  if (tolerance !== undefined && !/^\d{1,9}$/.test(tolerance))
    throw new VerifyUsageError('--tolerance takes a number of seconds');
  const headers = Object.fromEntries(lines.flatMap(fieldIn));
  try {
    const { id, timestamp } = verifyWebhook(await buffer(input), headers, secrets, {
      ...(scheme === undefined ? {} : { scheme }),
      ...(path === undefined ? {} : { path }),
      ...(tolerance === undefined ? {} : { toleranceSeconds: Number(tolerance) }),
    });
    process.stdout.write(`${JSON.stringify({ id: id ?? null, timestamp })}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error;
    process.stderr.write(`plinth: ${error.code}: ${error.message}\n`);
    return 1;
  }
}

function optionsOf(args: string[]) {
  const string = { type: 'string' } as const;
  const options = {
    header: { type: 'string', multiple: true },
    headers: string,
    'secret-file': string,
    path: string,
    scheme: string,
    tolerance: string,
  } as const;
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new VerifyUsageError((error as Error).message);
  }
}

/** A field line; none of a request line, as `curl -v` and dumps of servers have it. */
function fieldIn(line: string): [name: string, value: string][] {
  const colon = line.indexOf(':');
  const name = line.slice(0, Math.max(0, colon));
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return [];
  return [[name.toLowerCase(), line.slice(colon + 1).trim()]];
}

function linesOf(file: string): string[] {
  try {
    return linesIn(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new VerifyUsageError(`${file} cannot be read: ${(error as Error).message}`);
  }
}

function linesIn(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line.trim() !== '');
}
