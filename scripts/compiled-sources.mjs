/**
 * Sources and tests as Node can load them, a JavaScript file for each, for tests that replace no modules. Vitest's own
 * loader would transform each file for itself, send it to each worker, and slow down every use of an import.
 *
 * Vitest still finds, names and filters tests by their files; what it loads of such a file is one line that imports the
 * compiled one.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { transformWithOxc } from 'vite';

const root = path.dirname(import.meta.dirname);
const roots = ['src', 'test'];
const folderName = 'wherry-sources';

/** What vitest leaves to Node. */
export const compiledFolder = new RegExp(`/${folderName}/`);

const isTest = (file) => /\.(test|fixture|suite)\.ts$/.test(file);
/**
 * Left to Vite: tests of the dashboard and of examples, whose sources are in other folders, lists of files that Vite makes
 * (`import.meta.glob`), and `using`, which needs helpers of the compiler.
 */
const needsVite = (text) =>
  /\bimport\.meta as\b|from '(\.\.\/)+(web|examples)\/|^ *(await )?using /m.test(text);
const compiledName = (file) => file.replace(/\.ts$/, '.mjs');

/** A file that is imported, as the compiler prints it: at the start of a line, or by a call. */
const importedFile = /^((?:import|export)\s(?:[^"'\n]*\sfrom\s)?)"(\.[^"\n]+)"|\b(import\()"(\.[^"\n]+)"/gm;

/**
 * Compiles sources and tests into a new folder inside another one.
 *
 * @returns {Promise<{ folder: string, compiled: Set<string> }>} the folder, and the files that were compiled
 */
export async function compileSources(parent, define) {
  const folder = path.join(parent, folderName);
  const found = new Map();
  for (const top of roots)
    for (const file of readdirSync(path.join(root, top), { recursive: true })) {
      const name = path.join(top, file);
      if (top === 'src' && file.endsWith('.json')) cpSync(path.join(root, name), path.join(folder, name));
      if (!file.endsWith('.ts') || file.endsWith('.d.ts')) continue;
      const text = readFileSync(path.join(root, name), 'utf8');
      if (!needsVite(text)) found.set(path.join(root, name), text);
    }
  for (const [file, text] of found) {
    const to = compiledName(path.join(folder, path.relative(root, file)));
    mkdirSync(path.dirname(to), { recursive: true });
    writeFileSync(to, await compiled(file, text, define, found));
  }
  // Packages are looked for beside the folder.
  symlinkSync(path.join(root, 'node_modules'), path.join(parent, 'node_modules'), 'junction');
  return { folder, compiled: new Set(found.keys()) };
}

async function compiled(file, text, define, found) {
  const ownDefine =
    isTest(file) || file.startsWith(path.join(root, 'test')) ? { ...define, ...place(file) } : define;
  const options = { target: 'node20', sourcemap: true, define: ownDefine };
  const { code, map } = await transformWithOxc(text, file, options);
  const { sourcesContent: _, ...places } = map;
  const data = Buffer.from(JSON.stringify(places)).toString('base64');
  const imported = (target) => {
    const full = path.resolve(path.dirname(file), target);
    if (found.has(full)) return compiledName(target);
    return file.startsWith(path.join(root, 'src')) && target.endsWith('.json')
      ? target
      : pathToFileURL(full).href;
  };
  const linked = code.replace(
    importedFile,
    (_, before, target, call, called) => `${before ?? call}"${imported(target ?? called)}"`,
  );
  return `${linked}\n//# sourceMappingURL=data:application/json;base64,${data}\n`;
}

/** A test finds files beside itself. */
const place = (file) => ({
  'import.meta.dirname': JSON.stringify(path.dirname(file)),
  'import.meta.filename': JSON.stringify(file),
  'import.meta.url': JSON.stringify(pathToFileURL(file).href),
});

/** A plugin for Vite: what was compiled is loaded by Node. */
export const compiledSources = ({ folder, compiled }) => {
  const placeOf = (file) => compiledName(path.join(folder, path.relative(root, file)));
  let isWatching = false;
  return {
    name: 'compiled sources',
    enforce: 'pre',
    configResolved({ server }) {
      isWatching = server.watch !== null;
    },
    resolveId(target, importer) {
      if (!importer || !/^\.{1,2}\//.test(target)) return undefined;
      const file = path.resolve(path.dirname(importer), target);
      return compiled.has(file) ? placeOf(file) : undefined;
    },
    load(id) {
      // `vitest watch` reads tests again when they change.
      const isLeftToNode = !isWatching && compiled.has(id) && id.endsWith('.test.ts');
      return isLeftToNode ? `import ${JSON.stringify(placeOf(id))};` : undefined;
    },
  };
};
