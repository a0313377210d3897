/**
 * The sources as Node can load them, a JavaScript file for each, for tests that share a worker. Vitest's own loader would
 * transform each source for itself, and slow down every use of an import.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { transformWithOxc } from 'vite';

const root = path.dirname(import.meta.dirname);
const sources = path.join(root, 'src');
const folderName = 'wherry-sources';

/** What vitest leaves to Node. */
export const compiledFolder = new RegExp(`/${folderName}/`);

/** Files that tests alone use are left to vitest. */
const isSource = (file) => file.endsWith('.ts') && !/\.(test|fixture|suite)\.ts$/.test(file);
const compiledName = (file) => file.replace(/\.ts$/, '.mjs');

/** Another source that is imported: `from './x.ts'`, `import('./x.ts')` or `import './x.ts'`. */
const importedSource = /\b(from |import |import\()(["'])(\.[^"'\n]+)\.ts\2/g;

/** Compiles the sources into a new folder inside another one; returns the new one. */
export async function compileSources(parent, define) {
  const folder = path.join(parent, folderName);
  for (const file of readdirSync(sources, { recursive: true })) {
    const from = path.join(sources, file);
    const to = path.join(folder, file);
    if (file.endsWith('.json')) cpSync(from, to);
    if (!isSource(file)) continue;
    mkdirSync(path.dirname(to), { recursive: true });
    writeFileSync(compiledName(to), await compiled(from, define));
  }
  // Packages are looked for beside the folder.
  symlinkSync(path.join(root, 'node_modules'), path.join(parent, 'node_modules'), 'junction');
  return folder;
}

async function compiled(file, define) {
  const options = { target: 'node20', sourcemap: true, define };
  const { code, map } = await transformWithOxc(readFileSync(file, 'utf8'), file, options);
  const { sourcesContent: _, ...places } = map;
  const data = Buffer.from(JSON.stringify(places)).toString('base64');
  return `${code.replace(importedSource, '$1$2$3.mjs$2')}
//# sourceMappingURL=data:application/json;base64,${data}
`;
}

/** A plugin for Vite: imports of sources are those of the compiled ones in a folder. */
export const compiledSources = (folder) => ({
  name: 'compiled sources',
  enforce: 'pre',
  resolveId(target, importer) {
    if (!importer || !/^\.{1,2}\//.test(target) || !isSource(target)) return undefined;
    const file = path.relative(sources, path.resolve(path.dirname(importer), target));
    return file.startsWith('..') ? undefined : path.join(folder, compiledName(file));
  },
});
