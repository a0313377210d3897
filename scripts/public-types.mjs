/**
 * The declarations of the embedding API: what `src/cluster/index.ts` exports, and the types these refer to; and those of
 * the test kit, `src/testing/index.ts`, which refer to the former.
 * Made from the declarations that TypeScript emits for each file; `build-types.mjs` writes them into one
 * file, `generate-docs.mjs` makes a reference from them.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/** Loaded as what it is: `import` would first search its nine megabytes for the names that it exports. */
export const ts = createRequire(import.meta.url)('typescript');

const root = path.dirname(import.meta.dirname);
const entry = path.join(root, 'src/cluster/index.ts');
const testing = path.join(root, 'src/testing/index.ts');
const sources = path.join(root, 'src') + path.sep;
const optionsFolder = path.join(root, 'src/cluster/options');
/** Packages whose types a public type may name: they are optional peers. */
const peers = new Set(['@kubernetes/client-node']);
/** The type of declared options, which is written out with all its members (see src/cluster/options/option.ts). */
const inferred = 'OptionsOf';
/** Declares the imported JSON files, which have no types. */
const ambient = path.join(root, 'src/api/model/field-tables.d.ts');

/**
 * Declarations in the order in which they are found, starting with the exports of the entry: `{ name,
 * exported, comment, node }`, where `node` is in TypeScript's syntax tree.
 */
export function publicDeclarations() {
  return declarationsOf(allModules(), entry, () => false);
}

/** The same from a file that `build-types.mjs` has written, which takes no time. */
export function writtenDeclarations(file) {
  const { declared } = readModule(file, readFileSync(file, 'utf8'));
  const isExported = ({ modifiers }) => modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
  return [...declared].map(([name, one]) => ({ name, ...one, exported: isExported(one.node) ?? false }));
}

/** Declarations of the test kit, the names that these take from the embedding API, and those that they take of peers. */
export function testingDeclarations() {
  const modules = allModules();
  const exported = new Map(
    modules.exportsOf(entry).map((name) => [name, modules.resolve(entry, name)?.node]),
  );
  const shared = new Set();
  const foreign = new Set();
  const declarations = declarationsOf(modules, testing, ({ name, node, peer }) => {
    if (peer) foreign.add(`${name} ${peer}`);
    else if (exported.get(name) !== node) return false;
    else shared.add(name);
    return true;
  });
  return { declarations, shared: [...shared].sort(), foreign: [...foreign].map((one) => one.split(' ')) };
}

/** @param isElsewhere whether a declaration is taken from somewhere else */
function declarationsOf(modules, entry, isElsewhere) {
  const found = new Map();
  const add = (file, name, exported) => {
    const declaration = modules.resolve(file, name);
    if (!declaration || isElsewhere(declaration)) return;
    const known = found.get(declaration.name);
    if (known?.node === declaration.node) return;
    if (known) throw new Error(`two public types are named ${declaration.name}`);
    found.set(declaration.name, { ...declaration, exported });
    for (const mentioned of mentionedNames(declaration.node)) add(declaration.file, mentioned, false);
  };
  for (const name of modules.exportsOf(entry)) {
    add(entry, name, true);
    found.get(name).exported = true;
  }
  return [...found.values()];
}

/** Declaration files as TypeScript emits them, parsed on first use. */
class Modules {
  #options;
  #modules = new Map();
  /** Knows the types of the declared options; made when they are asked for. */
  #program;

  constructor() {
    const { config } = ts.readConfigFile(path.join(root, 'tsconfig.json'), ts.sys.readFile);
    const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, root);
    this.#options = { ...options, noEmit: false, declaration: true };
  }

  exportsOf(file) {
    return this.#module(file).exports;
  }

  /** Where a name in a file is declared; undefined for built-in names. */
  resolve(file, name) {
    const { declared, imported } = this.#module(file);
    if (declared.has(name)) return { file, name, ...declared.get(name) };
    const source = imported.get(name);
    if (!source) return undefined;
    if (peers.has(source.from)) return { name: source.name, peer: source.from };
    if (!source.from.startsWith('.'))
      throw new Error(`${path.relative(root, file)}: public types need ${name} of ${source.from}`);
    return this.resolve(path.resolve(path.dirname(file), source.from.replace(/\.js$/, '.ts')), source.name);
  }

  #module(file) {
    let module = this.#modules.get(file);
    if (!module) {
      const text = this.#writtenOut(file) ?? this.#declarationText(file);
      module = readModule(file, text);
      this.#modules.set(file, module);
    }
    return module;
  }

  /** A file that declares options: the types of these, as interfaces. Undefined for any other file. */
  #writtenOut(file) {
    if (path.dirname(file) !== optionsFolder) return undefined;
    this.#program ??= this.#optionsProgram();
    const checker = this.#program.getTypeChecker();
    const { statements } = this.#program.getSourceFile(file);
    const kept = statements.filter((node) => ts.isInterfaceDeclaration(node) || ts.isImportDeclaration(node));
    const types = statements.filter((node) => ts.isTypeAliasDeclaration(node) && isInferred(node));
    const interfaces = types.map((node) => interfaceText(checker, node)).join('\n');
    const imports = new Set();
    const named = interfaces.replace(/import\("([^"]+)"\)\.(\w+)/g, (_all, from, name) => {
      imports.add(`import type { ${name} } from '${from}';`);
      return name;
    });
    return [...kept.map((node) => node.getFullText()), ...imports, named].join('\n');
  }

  /** Files in other folders lose their imports: the types of options are declared where they are imported from, or named. */
  #optionsProgram() {
    const host = ts.createCompilerHost(this.#options);
    const { getSourceFile } = host;
    host.getSourceFile = (file, language, ...others) => {
      const isElsewhere =
        file.startsWith(sources) && !file.startsWith(optionsFolder) && !file.endsWith('.d.ts');
      if (!isElsewhere) return getSourceFile(file, language, ...others);
      const text = readFileSync(file, 'utf8').replace(/^import [^;]*;$/gm, '');
      return ts.createSourceFile(file, text, language);
    };
    return ts.createProgram([path.join(optionsFolder, 'start-options.ts'), ambient], this.#options, host);
  }

  /** From the text of the file alone where that says all types, which is many times faster. */
  #declarationText(file) {
    return this.#statedText(file) ?? this.#inferredText(file);
  }

  /** The declarations of a file whose text says all types; undefined where one has to be inferred. */
  #statedText(file) {
    const { outputText, diagnostics } = ts.transpileDeclaration(readFileSync(file, 'utf8'), {
      fileName: file,
      compilerOptions: { ...this.#options, isolatedDeclarations: true },
      reportDiagnostics: true,
    });
    return diagnostics.length ? undefined : outputText;
  }

  /** With types that TypeScript infers, for which it reads everything that the file imports. */
  #inferredText(file) {
    const program = ts.createProgram([file, ambient], { ...this.#options, emitDeclarationOnly: true });
    let text;
    program.emit(program.getSourceFile(file), (_name, written) => (text = written), undefined, true);
    if (text === undefined) throw new Error(`TypeScript declares nothing for ${path.relative(root, file)}`);
    return text;
  }
}

const isInferred = ({ type }) => ts.isTypeReferenceNode(type) && type.typeName.getText() === inferred;

/** An alias of inferred options as an interface, whose members have the comments of their declarations. */
function interfaceText(checker, alias) {
  const comment = ts.getLeadingCommentRanges(alias.getFullText(), 0)?.at(-1);
  const members = inWrittenOrder(checker.getTypeAtLocation(alias.name).getProperties()).map((member) => {
    const isOptional = member.flags & ts.SymbolFlags.Optional;
    const type = checker.getTypeOfSymbolAtLocation(member, alias);
    const text = checker.typeToString(
      isOptional ? checker.getNonNullableType(type) : type,
      alias,
      ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseSingleQuotesForStringLiteralType,
    );
    const words = commentOf(member.declarations[0])?.replace(/^\s*\*/gm, '     *');
    return `${words ? `    ${words}\n` : ''}    readonly ${member.name}${isOptional ? '?' : ''}: ${text};\n`;
  });
  const before = comment ? alias.getFullText().slice(comment.pos, comment.end) : '';
  return `${before}\nexport interface ${alias.name.text} {\n${members.join('')}}`;
}

/** TypeScript lists the members of the last object of `{ ...a, ...b }` first. */
function inWrittenOrder(members) {
  const objects = new Map();
  for (const member of members) {
    const { parent } = member.declarations[0];
    objects.set(parent, [...(objects.get(parent) ?? []), member]);
  }
  return [...objects.values()].reverse().flat();
}

let modulesOnce;
const allModules = () => (modulesOnce ??= new Modules());

function readModule(file, text) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const declared = new Map();
  const imported = new Map();
  const exports = [];
  const declare = (name, node) => declared.set(name.text, { node, comment: commentOf(node) });
  const take = (clause, from) => {
    for (const { name, propertyName } of clause?.elements ?? [])
      imported.set(name.text, { from, name: (propertyName ?? name).text });
  };
  for (const node of source.statements) {
    if (ts.isImportDeclaration(node)) take(node.importClause?.namedBindings, node.moduleSpecifier.text);
    else if (ts.isExportDeclaration(node) && node.moduleSpecifier) {
      take(node.exportClause, node.moduleSpecifier.text);
      exports.push(...node.exportClause.elements.map(({ name }) => name.text));
    } else if (ts.isVariableStatement(node))
      for (const { name } of node.declarationList.declarations) declare(name, node);
    else if (node.name) declare(node.name, node);
  }
  return { declared, imported, exports };
}

/** The comment directly before a declaration or member, not a file header before it. */
export function commentOf(node) {
  const text = node.getSourceFile().text;
  const range = ts.getLeadingCommentRanges(text, node.getFullStart())?.at(-1);
  return range && text.slice(range.pos, range.end);
}

/** Names of types and values that a declaration refers to, except those it declares itself. */
function mentionedNames(node) {
  const names = new Set();
  const own = new Set();
  const leftmost = (name) => (ts.isQualifiedName(name) ? leftmost(name.left) : name);
  const visit = (at) => {
    if (ts.isImportTypeNode(at)) throw new Error(`a public type imports another: ${at.getText()}`);
    if (ts.isTypeParameterDeclaration(at)) own.add(at.name.text);
    else if (ts.isTypeReferenceNode(at)) names.add(leftmost(at.typeName).text);
    else if (ts.isTypeQueryNode(at)) names.add(leftmost(at.exprName).text);
    else if (ts.isExpressionWithTypeArguments(at) && ts.isIdentifier(at.expression))
      names.add(at.expression.text);
    ts.forEachChild(at, visit);
  };
  visit(node);
  return [...names].filter((name) => !own.has(name));
}
