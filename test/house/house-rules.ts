/**
 * The house rules that no other tool checks: names and sizes of files, folders and functions, no default exports, one reader of the wall clock, no
 * disabled tests, tests that are named after how they run, plain words in comments. Layers are checked by
 * dependency-cruiser, circles of types by type-circles.ts, floating promises by Biome, dead exports by knip.
 */
import { createRequire } from 'node:module';
import type typescript from 'typescript';

/** Loaded as what it is: `import` would first search its nine megabytes for the names that it exports. */
const ts: typeof typescript = createRequire(import.meta.url)('typescript');

/** Maximum number of lines; a longer file has a second subject. */
const linesMax = 500;

/** Maximum number of lines of a function, from its name to its end; components of the dashboard are functions. */
const functionLinesMax = 80;
/** Maximum number of files in a folder, tests aside; a fuller one has a second subject. */
const folderFilesMax = 30;

/** The one file that may read the wall clock. */
const clock = 'src/clock.ts';

/** The one file that may ask which system this is. */
const platform = 'src/platform.ts';

const vagueNames = /(^|\.)(utils?|helpers?|misc|common|stuff|lib)\./;
/** Every violation of the code rules contains one of these; files without them are not parsed. */
const suspects =
  /\bexport\s+default\b|\bas\s+default\b|\bDate\b|\btimeOrigin\b|\bplatform\b|\.\s*(only|skip|todo)\b/;
const nounNames = /^[a-z][a-z0-9]*(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*\.(tsx?|mjs|py)$/;

/** Phrases that make a comment a riddle, each with what to write instead. */
const vaguePhrases: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [/^Of\s/, 'begin with the thing that is meant'],
  [/\b(?:has|have|had) not(?=[.,;:)]|$)/, 'lacks, does not have, without'],
  [/\b(?:is|are) none\b/, 'say what is missing'],
  [/\b(?:is|are|was|were) told\b(?! apart)/, 'gets, is notified, is called with, is reported'],
  [/\b(?:whoever|somebody)\b/i, 'name the one that is meant'],
];
const anyVaguePhrase = /\bOf\s|\b(?:not|none|told|whoever|somebody)\b/i;
/** A block, or consecutive lines, that begin a line of code. */
const comments = /^[ \t]*\/\*[\s\S]*?\*\/|^[ \t]*\/\/.*(?:\n[ \t]*\/\/.*)*/gm;
const isCommented = (path: string): boolean => /^(src|web|bench|scripts)\/.*\.(tsx?|mjs)$/.test(path);
/** Hooks of a file that tests import hold for the first of those alone that share a worker. */
const sharedHooks = /^((export )?const .* = )?(before|after|use)(All|Each|[A-Z]\w*)\(/m;
/** These change modules for all files of a worker. */
const moduleChanges = /\bvi\.(mock|doMock|hoisted|resetModules)\(/;

interface SourceFile {
  /** Relative to the repository's root, with slashes. */
  readonly path: string;
  readonly text: string;
}

/** The violations in a file, one sentence each. */
export function complaintsAbout(file: SourceFile): string[] {
  const { path, text } = file;
  const name = path.slice(path.lastIndexOf('/') + 1);
  const complaints: string[] = [];
  if (vagueNames.test(name)) complaints.push(`${path}: says nothing; name the noun that it helps`);
  if (!nounNames.test(name))
    complaints.push(`${path}: a file is named in lower case, with hyphens between its words`);
  complaints.push(...complaintsAboutRunning(path, text));
  const count = text.split('\n').length - 1;
  if (count > linesMax) complaints.push(`${path}: ${count} lines, more than ${linesMax}`);
  if (isCommented(path) && anyVaguePhrase.test(text)) complaints.push(...complaintsAboutComments(file));
  const isMeasured = isCommented(path) && !isTest(path) && count > functionLinesMax;
  if (!isMeasured && !suspects.test(text)) return complaints;
  const source = ts.createSourceFile(path, text, {
    languageVersion: ts.ScriptTarget.ESNext,
    jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
  });
  const lineAt = (position: number): number => source.getLineAndCharacterOfPosition(position).line + 1;
  if (suspects.test(text))
    visit(source, (node) => {
      const words = complaintAboutNode(node, path);
      if (words) complaints.push(`${path}:${lineAt(node.getStart(source))}: ${words}`);
    });
  if (isMeasured)
    visitLong(source, (node) => {
      if (!ts.isFunctionLike(node) || !('body' in node)) return;
      const start = lineAt(node.getStart(source));
      const lines = lineAt(node.end) - start + 1;
      if (lines > functionLinesMax)
        complaints.push(`${path}:${start}: a function of ${lines} lines, more than ${functionLinesMax}`);
    });
  return complaints;
}

/** Folders with too many files, one sentence each. */
export function complaintsAboutFolders(paths: Iterable<string>): string[] {
  const counts = new Map<string, number>();
  for (const path of paths) {
    if (/\.(test|fixture|suite)\.tsx?$/.test(path)) continue;
    const folder = path.slice(0, path.lastIndexOf('/'));
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts].flatMap(([folder, count]) =>
    count > folderFilesMax ? [`${folder}: ${count} files, more than ${folderFilesMax}`] : [],
  );
}

function* complaintsAboutComments({ path, text }: SourceFile): Iterable<string> {
  for (const { 0: comment, index } of text.matchAll(comments)) {
    const words = comment
      .replace(/\n\s*(?:\*\/|\*|\/\/)?\s*|\s*\*\/$/g, ' ')
      .replace(/^\s*(?:\/\*+|\/\/)\s*/, '')
      .trim();
    for (const [phrase, instead] of vaguePhrases) {
      const found = phrase.exec(words)?.[0].trim();
      if (found) yield `${path}:${lineOf(text, index)}: "${found}" in a comment; ${instead}`;
    }
  }
}

const lineOf = (text: string, index: number): number => text.slice(0, index).split('\n').length;

/** Whether a test's name says how it must be run: see vitest.config.ts. */
function complaintsAboutRunning(path: string, text: string): string[] {
  const complaints: string[] = [];
  if (!path.endsWith('.test.ts')) {
    if (isTest(path) && sharedHooks.test(text))
      complaints.push(`${path}: has hooks for whoever imports it first; export a function that sets them`);
    return complaints;
  }
  if (/^test\/[^/]*$/.test(path)) complaints.push(`${path}: belongs into a room of test/`);
  if (moduleChanges.test(text) && !/\.alone\./.test(path))
    complaints.push(`${path}: changes modules for others; it must be named *.alone.test.ts`);
  if (/\bdescribeWith\('kubectl'\)/.test(text) && !/\.(every-)?kubectl\./.test(path))
    complaints.push(`${path}: uses kubectl; it must be named *.kubectl.test.ts`);
  if (/\.release\.(?!test\.ts$)/.test(path))
    complaints.push(`${path}: the word release stands before .test.ts, after all others`);
  return complaints;
}

function visit(node: typescript.Node, look: (node: typescript.Node) => void): void {
  look(node);
  ts.forEachChild(node, (child) => visit(child, look));
}

/** Visits nodes that may have more lines than a function may; a line has a character at least. */
function visitLong(node: typescript.Node, look: (node: typescript.Node) => void): void {
  if (node.end - node.pos <= functionLinesMax) return;
  look(node);
  ts.forEachChild(node, (child) => visitLong(child, look));
}

function complaintAboutNode(node: typescript.Node, path: string): string | undefined {
  if (isDefaultExport(node) && !path.endsWith('.d.ts')) return 'a default export; exports have names';
  if (isProgram(path) && path !== clock && readsWallClock(node))
    return `reads the wall clock; take a clock as an option, or the one of ${clock}`;
  if (isProgram(path) && path !== platform && readsPlatform(node))
    return `asks which system this is; ask ${platform}, which tests can set`;
  if (isTest(path) && isSwitchedOff(node)) return 'a test that is switched off, or switches the others off';
  return undefined;
}

const isTest = (path: string): boolean =>
  /\.(test|fixture|suite)\.ts$/.test(path) || path.startsWith('test/');
const isProgram = (path: string): boolean => path.startsWith('src/') && !isTest(path);

const isDefaultExport = (node: typescript.Node): boolean =>
  (ts.isExportAssignment(node) && !node.isExportEquals) ||
  (ts.isExportSpecifier(node) && node.name.text === 'default') ||
  (ts.canHaveModifiers(node) &&
    (ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword) ?? false));

/** `Date.now`, called or passed on; `new Date()` and `Date()` without a time; `performance.timeOrigin`. */
function readsWallClock(node: typescript.Node): boolean {
  if (ts.isPropertyAccessExpression(node)) {
    const { expression, name } = node;
    return (
      (isNamed(expression, 'Date') && name.text === 'now') ||
      (isNamed(expression, 'performance') && name.text === 'timeOrigin')
    );
  }
  if (ts.isNewExpression(node)) return isNamed(node.expression, 'Date') && !node.arguments?.length;
  return ts.isCallExpression(node) && isNamed(node.expression, 'Date');
}

/** `process.platform`, and `platform` of `node:os`. */
function readsPlatform(node: typescript.Node): boolean {
  if (ts.isPropertyAccessExpression(node))
    return node.name.text === 'platform' && ['process', 'os'].some((name) => isNamed(node.expression, name));
  if (!ts.isImportDeclaration(node) || !ts.isStringLiteral(node.moduleSpecifier)) return false;
  const names = node.importClause?.namedBindings;
  return (
    /^(node:)?(os|process)$/.test(node.moduleSpecifier.text) &&
    names !== undefined &&
    ts.isNamedImports(names) &&
    names.elements.some(({ propertyName, name }) => (propertyName ?? name).text === 'platform')
  );
}

const isNamed = (node: typescript.Node, name: string): boolean => ts.isIdentifier(node) && node.text === name;

/** `it.only`, `describe.each.skip` and the like; `it.skipIf(…)` has a reason, and is allowed. */
function isSwitchedOff(node: typescript.Node): boolean {
  if (!ts.isPropertyAccessExpression(node) || !['only', 'skip', 'todo'].includes(node.name.text))
    return false;
  let { expression } = node;
  while (ts.isPropertyAccessExpression(expression) || ts.isCallExpression(expression))
    ({ expression } = expression);
  return ['it', 'test', 'describe', 'suite'].some((name) => isNamed(expression, name));
}
