/**
 * Puts what the first page and its views have in common into one file. esbuild makes a file for every set of modules that
 * the same entries use, which would be dozens of a few hundred bytes, each a request before a view is shown. So every
 * module that is loaded late, of which the start of the page is the first, imports all common modules: they form one set.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';

export function commonChunk(common) {
  const imports = common.map((file) => `import ${JSON.stringify(path.resolve(file))};`).join('\n');
  return {
    name: 'common chunk',
    setup(build) {
      const late = new Set();
      build.onResolve({ filter: /^\./ }, ({ kind, path: name, resolveDir }) => {
        if (kind === 'dynamic-import') late.add(path.resolve(resolveDir, name));
      });
      build.onLoad({ filter: /\.tsx?$/ }, async ({ path: file }) => {
        if (!late.has(file)) return undefined;
        return {
          contents: `${await readFile(file, 'utf8')}\n${imports}\n`,
          loader: path.extname(file).slice(1),
        };
      });
    },
  };
}
