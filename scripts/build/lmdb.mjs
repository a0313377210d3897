/**
 * Puts LMDB's JavaScript, with the packages that it requires, into the bundle. Loading it from its six packages took a
 * tenth of a start; in the bundle it is found without a search, and V8's compiled code of it is cached. Its native code
 * stays in the package: the bundle looks for it where the package is installed.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import path from 'node:path';

/** MessagePack, which nothing in the store is written in: every database says how its values are encoded. */
const unused = 'msgpackr';
const virtual = 'bundled lmdb';

/** Gives `bundledLmdb` to `src/store/lmdb-library.ts`. */
export const bundledLmdb = {
  name: virtual,
  setup({ onResolve, onLoad }) {
    onLoad({ filter: /store[\\/]lmdb-library\.ts$/ }, ({ path: file }) => ({
      contents: `import { bundledLmdb } from '${virtual}';${readFileSync(file, 'utf8')}`,
      loader: 'ts',
    }));
    onResolve({ filter: /^bundled lmdb$/ }, () => ({ path: 'entry', namespace: virtual }));
    onResolve({ filter: new RegExp(`^${unused}$`) }, () => ({ path: 'unused', namespace: virtual }));
    onResolve({ filter: /^[^.]/ }, ({ path: name, importer, kind, resolveDir }) => {
      const wanted = importer.includes('node_modules') || importer === 'entry';
      if (!wanted || kind !== 'require-call' || isBuiltin(name)) return undefined;
      return { path: createRequire(path.join(resolveDir, 'index.js')).resolve(name) };
    });
    onLoad({ filter: /^entry$/, namespace: virtual }, () => ({
      contents: `let file;
        export const installedFile = () => file;
        export const bundledLmdb = {
          version: ${JSON.stringify(versionOf('lmdb'))},
          load: (installed) => { file = installed; return require('lmdb'); },
        };`,
      resolveDir: process.cwd(),
    }));
    onLoad({ filter: /^unused$/, namespace: virtual }, () => ({ contents: 'module.exports = {};' }));
    // It looks for its native code by the path of its own file.
    onLoad({ filter: /node_modules[\\/]lmdb[\\/]dist[\\/]index\.cjs$/ }, ({ path: file }) => ({
      contents: `const __filename = require('bundled lmdb').installedFile();${forNode(readFileSync(file, 'utf8'))}`,
    }));
  },
};

/** Its code without what it does in browsers to find its own file. */
const forNode = (code) =>
  code.replace(/\(typeof document === 'undefined' \? (new .*?\.href) : .*?baseURI\)\.href\)\)/g, '$1');

const packageFolder = (name) => path.resolve('node_modules', name);
const packageOf = (name) => JSON.parse(readFileSync(path.join(packageFolder(name), 'package.json'), 'utf8'));
const versionOf = (name) => packageOf(name).version;

/**
 * The licences of all packages whose code a bundle contains, by esbuild's metafile. A text that several packages share
 * stands there once, behind the names and copyright notices of all of them.
 */
export function licencesOf({ inputs }) {
  const found = Object.keys(inputs).map(
    (file) => /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1],
  );
  const shared = new Map();
  for (const name of [...new Set(found.filter(Boolean))].sort()) {
    const lines = licenceText(name).split('\n');
    const isNotice = (line) => /^Copyright\b/.test(line);
    const terms = lines.filter((line) => !isNotice(line)).join('\n');
    // Copies of the Apache licence differ in the brackets of their example.
    const key = terms
      .replace(/\s+/g, ' ')
      .replace(/[{}[\]]/g, '')
      .trim();
    const title = `${name} ${versionOf(name)} (${packageOf(name).license})`;
    const group = shared.get(key) ?? { terms: terms.trim(), holders: [] };
    shared.set(key, group);
    group.holders.push([title, ...lines.filter(isNotice)].join('\n'));
  }
  return [...shared.values()]
    .map(({ terms, holders }) => `${holders.join('\n\n')}\n\n${terms}\n`)
    .join('\n---\n\n');
}

function licenceText(name) {
  const folder = packageFolder(name);
  const file = existsSync(folder) && readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  return file ? `${readFileSync(path.join(folder, file), 'utf8').trim()}\n` : '';
}
