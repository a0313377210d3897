/** Builds `dist/`: the command and the library as one bundle each (they start several times faster so). */
import { rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { build } from 'esbuild';

/**
 * Field tables as text, which is read as JSON when a table is first looked into: most are not when a server starts, and
 * JavaScript takes several times as long to read.
 */
const fieldTables = {
  name: 'field tables',
  setup({ onLoad }) {
    onLoad({ filter: /\.fields\.json$/ }, async ({ path }) => {
      const text = JSON.stringify(JSON.parse(await readFile(path, 'utf8')));
      return {
        contents: `const text = ${JSON.stringify(text)};
          let table;
          const read = () => (table ??= JSON.parse(text));
          export default {
            get apiVersion() { return read().apiVersion; },
            get models() { return read().models; },
          };`,
      };
    });
  },
};

rmSync('dist', { recursive: true, force: true });
await build({
  entryPoints: { cli: 'src/cli/main.ts', index: 'src/cluster/index.ts' },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  packages: 'external',
  sourcemap: true,
  // Less to read at every start; names stay, for stacks.
  minifyWhitespace: true,
  minifySyntax: true,
  logLevel: 'warning',
  plugins: [fieldTables],
});
