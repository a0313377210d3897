/**
 * Puts what the first page and its views have in common into one file. esbuild makes a file for every set of modules that
 * the same entries use, which would be dozens of a few hundred bytes, each a request before a view is shown. So the first
 * page and every module that is loaded late import all common modules: these then form one set.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** @param first the module that the page starts with */
export function commonChunk(first, common) {
  const imports = common.map((file) => `import ${JSON.stringify(path.resolve(file))};`).join('\n');
  return {
    name: 'common chunk',
    setup(build) {
      const importing = new Set([path.resolve(first)]);
      build.onResolve({ filter: /^\./ }, ({ kind, path: name, resolveDir }) => {
        if (kind === 'dynamic-import') importing.add(path.resolve(resolveDir, name));
      });
      build.onLoad({ filter: /\.tsx$/ }, async ({ path: file }) => {
        if (!importing.has(file)) return undefined;
        return { contents: `${await readFile(file, 'utf8')}\n${imports}\n`, loader: 'tsx' };
      });
    },
  };
}
