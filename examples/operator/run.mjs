#!/usr/bin/env node
/** Compiles the example with esbuild and runs it: `node examples/operator/run.mjs`. */
import { rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const folder = path.dirname(fileURLToPath(import.meta.url));
const common = { bundle: true, platform: 'node', format: 'esm', target: 'node20', packages: 'external' };

const webhook = await build({ ...common, entryPoints: [path.join(folder, 'webhook.ts')], write: false });
// Beside the sources, so that packages are found.
const outfile = path.join(folder, `.run-${process.pid}.mjs`);
await build({ ...common, entryPoints: [path.join(folder, 'run.ts')], outfile });
try {
  const { run } = await import(pathToFileURL(outfile).href);
  await run(webhook.outputFiles[0].text);
} finally {
  rmSync(outfile);
}
