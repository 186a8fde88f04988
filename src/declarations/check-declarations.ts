import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { createAjv } from '../validation/ajv.js';
import { automatonOf } from '../validation/automaton.js';
import { useAutomata } from '../validation/pattern.js';
import { compiled } from '../validation/require-valid.js';
import { schemaText } from './built-in.js';
import { NAME_RULES } from './collection-rules.js';
import type { DeclarationFault } from './declaration.js';
import { declarationFaults } from './declaration-faults.js';
import { DeclarationError, type Declarations, readFolder } from './read-declarations.js';
import { faultsAt } from './rule.js';
import { addFile, baseOf, SchemaFiles } from './schema-files.js';
import { faultsOf } from './validation-faults.js';

useAutomata(automatonOf);

/** Reads the declarations in a folder and checks them. Throws DeclarationError with every fault of every file. */
export const readChecked = (
  folder: string | undefined,
  base: string,
  ownPaths: ReadonlySet<string>,
): Declarations => checkDeclarations({ ...readFolder(folder, base), ownPaths });

/** Checks declarations with everything that can be wrong in them. Throws DeclarationError with every fault. */
export function checkDeclarations(declarations: Declarations): Declarations {
  const { collections, shared, faults: ofReading = [] } = declarations;
  const files = new SchemaFiles(collections, shared);
  const first = createAjv({ formats: formats.default, allErrors: false });
  const [strict, lenient] = [true, false].map((isStrict) =>
    createAjv({ formats: formats.default, isStrict }),
  );
  const own = collections.map(({ name, schema }): [string, object] => [`${name}.json`, schema]);
  const added = [...shared, ...own].flatMap(([name, schema]) =>
    attempt(files.pathOf(name), () => {
      for (const each of [strict!, lenient!, first]) addFile(each, name, schema);
    }),
  );
  const forms = [
    ...collections.flatMap(({ file, schema }) => formFaults(file, schema, 'collection')),
    ...[...shared].flatMap(([file, schema]) => formFaults(file, schema)),
  ];
  const isInside = (fault: DeclarationFault) =>
    forms.some(
      ({ file, pointer }) => pointer && file === fault.file && `${fault.pointer}/`.startsWith(`${pointer}/`),
    );
  // A reference may lead to a file that could not be read.
  const isKnown = ({ reason }: DeclarationFault) =>
    ofReading.length === 0 || !reason.startsWith("can't resolve");
  const found = declarationFaults(declarations, files, { strict: strict!, lenient: lenient! });
  const faults = [...ofReading, ...forms, ...found.filter((each) => isKnown(each) && !isInside(each))];
  faults.push(...added.filter(({ file }) => !faults.some((each) => each.file === file)));
  const compileAll = (name: string) => {
    for (const each of [strict!, first]) compiled(() => each.getSchema(baseOf(`${name}.json`))!);
  };
  if (faults.length === 0)
    faults.push(...collections.flatMap(({ name, file }) => attempt(file, () => compileAll(name))));
  if (faults.length > 0) throw new DeclarationError(faults);
  return declarations;
}

/** Whether a collection may have this name in a service with these paths. */
export const isNameAvailable = (name: string, ownPaths: ReadonlySet<string>): boolean =>
  [...faultsAt({ name, ownPaths, schema: {} }, NAME_RULES)].length === 0;

/** The error of what a library does with a file. */
function attempt(file: string, action: () => unknown): DeclarationFault[] {
  try {
    action();
    return [];
  } catch (error) {
    return [{ file, pointer: '', reason: (error as Error).message }];
  }
}

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
const metaAjv = new Ajv2020({ allErrors: true, strict: false });

/** The faults of a file by a schema of the service, or else by the dialect of JSON Schema. */
export function formFaults(file: string, content: object, form?: Parameters<typeof schemaText>[0]) {
  if (form && !metaAjv.getSchema(form)) metaAjv.addSchema(JSON.parse(schemaText(form)), form);
  const validate = metaAjv.getSchema(form ?? DIALECT)!;
  return validate(content) ? [] : faultsOf(file, validate.errors ?? []);
}
