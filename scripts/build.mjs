/** Builds `dist/`: the command and the library as one bundle each (they start several times faster so). */
import { rmSync } from 'node:fs';
import { build } from 'esbuild';

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
});
