import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { createAjv, loadFormats } from '../../src/validation/ajv.js';
import { comparisonsOf } from '../../src/validation/linear-patterns.js';
import { foreign, type PatternChecker } from '../support/foreign.js';
import t from '../support/test.js';
import { isThorough } from '../support/thorough.js';
import { PATTERNS } from '../validation/patterns.js';

const SRC = fileURLToPath(new URL('../../../src/', import.meta.url));
/** On a busy machine, shorter ones of the checker would leave it without a result; milliseconds. */
const LIMITS = { timeout: 150_000, incubationTimeout: 150_000, attackTimeout: 150_000 };
/** The files that compile the patterns of declarations, and the escapes in them. */
const OPERATORS_PATTERNS = ['pattern.ts', 're2-syntax.ts'].map((name) => join('validation', name));

interface Expression {
  readonly where: string;
  readonly source: string;
  readonly flags: string;
}

/** Every regular expression of a file: literals, and the patterns of JSON Schemas. Throws for one that it cannot read. */
function expressionsIn(file: string): Expression[] {
  const source = ts.createSourceFile(
    file,
    readFileSync(join(SRC, file), 'utf8'),
    ts.ScriptTarget.Latest,
    true,
  );
  const found: Expression[] = [];
  const add = (node: ts.Node, text: string, flags: string) => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart());
    found.push({ where: `${file}:${line + 1}`, source: text, flags });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const text = node.getText();
      const end = text.lastIndexOf('/');
      add(node, text.slice(1, end), text.slice(end + 1));
    } else if (ts.isPropertyAssignment(node) && node.name.getText() === 'pattern') {
      const text = textOf(node.initializer, source);
      // Of a pattern in SQL there is no text here.
      if (text !== undefined) add(node, text, 'u');
    } else if (
      (ts.isNewExpression(node) || ts.isCallExpression(node)) &&
      node.expression.getText() === 'RegExp' &&
      !OPERATORS_PATTERNS.includes(file)
    ) {
      throw new Error(`${file} builds a regular expression: ${node.getText()}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** The text of a string literal, or of the constant of the file that an identifier names. */
function textOf(node: ts.Expression, source: ts.SourceFile): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isIdentifier(node)) return undefined;
  for (const statement of source.statements) {
    if (!ts.isVariableStatement(statement)) continue;
    for (const { name, initializer } of statement.declarationList.declarations)
      if (name.getText() === node.text && initializer) return textOf(initializer, source);
  }
  return undefined;
}

/** The expressions of the formats that declarations can name. */
async function expressionsOfFormats(): Promise<Expression[]> {
  await loadFormats();
  return Object.entries(createAjv().formats).flatMap(([name, format]) => {
    const expression =
      format instanceof RegExp ? format : (format as { validate?: unknown } | undefined)?.validate;
    if (!(expression instanceof RegExp)) return [];
    return [{ where: `the format ${name}`, source: expression.source, flags: expression.flags }];
  });
}

/** The expressions that an earlier run has searched: whether one takes linear time depends on its text alone. */
const LINEAR = fileURLToPath(new URL('../../../test/system/linear-expressions.txt', import.meta.url));
/** The most lines that the list may have too many, or too few: each new expression costs a quarter of a second of a run. */
const MAX_DIFFERENT = 20;

t.test('no regular expression takes more than linear time', async (t) => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  const expressions = [...files.flatMap(expressionsIn), ...(await expressionsOfFormats())];
  t.ok(expressions.length > 90, `${expressions.length} are checked`);
  t.ok(
    expressions.some(({ source }) => source.includes('\\x5d-\\x7e') || source.includes(']-~')),
    'the pattern of a JSON Schema is among them',
  );
  const { checkSync } = await foreign<PatternChecker>('recheck');
  const present = new Map(expressions.map((each) => [`/${each.source}/${each.flags}`, each]));
  const listed = new Set(readFileSync(LINEAR, 'utf8').split('\n').slice(0, -1));
  const former = [...listed].filter((text) => !present.has(text));
  const added = [...present.keys()].filter((text) => !listed.has(text));
  for (const text of isThorough ? present.keys() : added) {
    const { where, source, flags } = present.get(text)!;
    const { complexity: found } = checkSync(source, flags, LIMITS);
    const complexity = found?.type ?? 'unknown';
    t.ok(['safe', 'linear', 'constant'].includes(complexity), `${where} ${text}: ${complexity}`);
  }
  const differing = [...former.map((text) => `- ${text}`), ...added.map((text) => `+ ${text}`)];
  for (const line of differing) t.comment(`test/system/linear-expressions.txt: ${line}`);
  t.ok(differing.length <= MAX_DIFFERENT, `${differing.length} lines of the list differ`);
});

/** Parts of patterns, and how often each may occur. */
const ATOMS = ['a', '[a-z]', '\\d', '\\w', '.', '[^,]', '-', '(a|b)', '(?:ab)', '\\s', 'é', '\\.'];
const QUANTIFIERS = ['', '?', '*', '+', '{3}', '{0,9}', '{1,40}', '{2,}', '{0,300}'];

/** A generator of numbers below a bound (xorshift), the same in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

function* patterns(count: number): Generator<string> {
  const next = numbers(42);
  const pick = (from: readonly string[]): string => from[next(from.length)]!;
  for (let at = 0; at < count; at++) {
    const parts = Array.from({ length: 1 + next(4) }, () => pick(ATOMS) + pick(QUANTIFIERS));
    const [start, end] = next(5) === 0 ? ['', ''] : ['^', '$'];
    yield start + parts.join('') + end;
  }
}

t.test('a pattern that recheck calls vulnerable is never classified as linear', async (t) => {
  const { checkSync } = await foreign<PatternChecker>('recheck');
  const generated = [...new Set(patterns(400))].filter((each) => comparisonsOf(each) !== undefined);
  t.ok(generated.length > 50, `${generated.length} are compared`);
  for (const pattern of [
    ...generated,
    ...PATTERNS.filter(([, isLinear]) => isLinear).map(([text]) => text),
  ]) {
    const { status } = checkSync(pattern, 'u', LIMITS);
    t.equal(status, 'safe', pattern);
  }
});
