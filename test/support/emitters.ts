import ts from 'typescript';

/** Calls that create an emitter whose error without a listener ends the process, by module. */
const CREATORS: Readonly<Record<string, RegExp>> = {
  net: /^(connect|createConnection|createServer|Socket|Server)$/,
  tls: /^(connect|createServer|TLSSocket)$/,
  http: /^(createServer|request|get)$/,
  https: /^(createServer|request|get)$/,
  http2: /^(connect|createServer|createSecureServer)$/,
  dgram: /^createSocket$/,
  child_process: /^(spawn|fork|exec|execFile)$/,
  cluster: /^fork$/,
  worker_threads: /^Worker$/,
  fs: /^(create(Read|Write)Stream|watch)$/,
  zlib: /^create/,
  stream: /^(Readable|Writable|Duplex|Transform|PassThrough)$/,
  readline: /^(createInterface|Interface)$/,
};

/** Functions of Node that listen to the errors of the streams that they are given. */
const LISTENING = new Set(['pipeline']);

export interface Emitter {
  /** The function or class that creates it, as its module names it. */
  readonly creator: string;
  readonly line: number;
  readonly hasListener: boolean;
}

/** Each emitter that a source file creates, and whether an error listener is attached where it is created. */
export function emittersOf(name: string, text: string): Emitter[] {
  if (!text.includes("from 'node:")) return [];
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const creators = creatorsIn(file);
  return nodesOf(file).flatMap((node) => {
    if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return [];
    const creator = creators(node.expression);
    if (creator === undefined) return [];
    const { line } = file.getLineAndCharacterOfPosition(node.getStart());
    return [{ creator, line: line + 1, hasListener: isHeard(file, node) }];
  });
}

const nodesOf = (root: ts.Node): ts.Node[] => {
  const nodes: ts.Node[] = [root];
  for (const node of nodes) node.forEachChild((child) => void nodes.push(child));
  return nodes;
};

/** Reads which names of a file stand for creators: imported ones, members of imported modules, and those destructured of one. */
function creatorsIn(file: ts.SourceFile): (callee: ts.Expression) => string | undefined {
  const modules = new Map<string, string>();
  const functions = new Map<string, string>();
  const note = (module: string | undefined, original: string, local: string) => {
    if (module !== undefined && CREATORS[module]?.test(original)) functions.set(local, original);
  };
  for (const statement of file.statements) {
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) continue;
    const module = /^node:(\w+)/.exec(statement.moduleSpecifier.text)?.[1];
    const clause = statement.importClause;
    if (module === undefined || clause === undefined) continue;
    if (clause.name) modules.set(clause.name.text, module);
    const bindings = clause.namedBindings;
    if (bindings && ts.isNamespaceImport(bindings)) modules.set(bindings.name.text, module);
    if (bindings && ts.isNamedImports(bindings))
      for (const { name, propertyName } of bindings.elements)
        note(module, (propertyName ?? name).text, name.text);
  }
  for (const node of nodesOf(file)) {
    if (!ts.isVariableDeclaration(node) || !ts.isObjectBindingPattern(node.name)) continue;
    const source = nodesOf(node.initializer ?? node).find(
      (each) => ts.isIdentifier(each) && modules.has(each.text),
    );
    for (const { name, propertyName } of source ? node.name.elements : [])
      note(modules.get(source!.getText()), (propertyName ?? name).getText(), name.getText());
  }
  return (callee) => {
    if (ts.isIdentifier(callee)) return functions.get(callee.text);
    if (!ts.isPropertyAccessExpression(callee) || !ts.isIdentifier(callee.expression)) return undefined;
    const creator = functions.get(callee.expression.text);
    // Of a class, as Readable.from.
    if (creator !== undefined && callee.name.text === 'from') return creator;
    const module = modules.get(callee.expression.text);
    return module !== undefined && CREATORS[module]?.test(callee.name.text) ? callee.name.text : undefined;
  };
}

/** Whether an expression, the variable that it becomes, or the function to which it is passed has an error listener. */
function isHeard(file: ts.SourceFile, created: ts.Node): boolean {
  let node = created;
  for (;;) {
    const { parent } = node;
    if (ts.isPropertyAccessExpression(parent) && ts.isCallExpression(parent.parent)) {
      if (isErrorListener(parent.parent)) return true;
      node = parent.parent;
    } else if (ts.isCallExpression(parent) && parent.expression !== node)
      return listens(file, parent, parent.arguments.indexOf(node as ts.Expression));
    else if (
      ts.isConditionalExpression(parent) ||
      ts.isParenthesizedExpression(parent) ||
      ts.isAsExpression(parent)
    )
      node = parent;
    else if (ts.isVariableDeclaration(parent)) return isVariableHeard(file, parent);
    else return false;
  }
}

const isErrorListener = ({ expression, arguments: [event] }: ts.CallExpression): boolean =>
  ts.isPropertyAccessExpression(expression) &&
  expression.name.text === 'on' &&
  event !== undefined &&
  ts.isStringLiteral(event) &&
  event.text === 'error';

/** Whether the function that a call names, one of the file or of Node, listens to the errors of that argument. */
function listens(file: ts.SourceFile, { expression }: ts.CallExpression, argument: number): boolean {
  const name = expression.getText();
  if (LISTENING.has(name)) return true;
  const called = nodesOf(file).find((node) => ts.isFunctionDeclaration(node) && node.name?.text === name);
  const parameter = called && (called as ts.FunctionDeclaration).parameters[argument];
  return parameter !== undefined && isNameHeard(file, parameter.name.getText(), called!);
}

function isVariableHeard(file: ts.SourceFile, declaration: ts.VariableDeclaration): boolean {
  const scope = ts.findAncestor(declaration, (node) => ts.isFunctionLike(node) || ts.isSourceFile(node))!;
  return isNameHeard(file, declaration.name.getText(), scope);
}

/** Whether a scope attaches an error listener to a name, or passes the name to a function that does. */
function isNameHeard(file: ts.SourceFile, name: string, scope: ts.Node): boolean {
  return nodesOf(scope).some((node) => {
    if (!ts.isCallExpression(node)) return false;
    const { expression } = node;
    if (ts.isPropertyAccessExpression(expression) && expression.expression.getText() === name)
      return isErrorListener(node);
    const at = node.arguments.findIndex((argument) => argument.getText() === name);
    return (
      at >= 0 &&
      ts.isIdentifier(expression) &&
      expression.text !== scopeName(scope) &&
      listens(file, node, at)
    );
  });
}

const scopeName = (scope: ts.Node): string | undefined =>
  ts.isFunctionDeclaration(scope) ? scope.name?.text : undefined;
