/** Builds `dist/`: the library and the command, each bundled (they start several times faster so). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import { buildThread, defineThread } from './thread.mjs';

const keepMsMax = 10_000;
const lookMs = 50;

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

/** The same for both: less to read at every start; names stay, for stacks. */
const common = {
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  packages: 'external',
  sourcemap: true,
  minifyWhitespace: true,
  minifySyntax: true,
  logLevel: 'warning',
  plugins: [fieldTables],
  metafile: true,
};

/** The module that starts the writing thread: the thread's file has to be beside the bundle that holds it. */
const threadStarter = 'src/store/lmdbwriter.ts';

async function addThread({ outputs }) {
  const holding = Object.keys(outputs).find((name) => outputs[name].inputs[threadStarter]);
  const { minifyWhitespace, minifySyntax, logLevel } = common;
  await buildThread(path.dirname(holding), { minifyWhitespace, minifySyntax, logLevel });
}

/** The library: modules, of which those that are not needed at once are loaded when they are. */
async function library() {
  const { metafile } = await build({
    ...common,
    define: defineThread,
    entryPoints: { index: 'src/cluster/index.ts' },
    outdir: 'dist',
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    format: 'esm',
  });
  await addThread(metafile);
}

/**
 * The command: one script, loaded by `cli.cjs` with the code that was made of it before (see src/cli/launch.ts). Code that
 * was kept cannot import modules, so the loader does it; the name is as long as the keyword, so that source maps hold.
 */
async function command() {
  const { outputFiles, metafile } = await build({
    ...common,
    entryPoints: { command: 'src/cli/main.ts' },
    outdir: 'dist',
    entryNames: '[name]-[hash]',
    outExtension: { '.js': '.cjs' },
    format: 'cjs',
    write: false,
    define: { ...defineThread, 'import.meta.url': 'moduleUrl' },
    banner: { js: `const moduleUrl = require('node:url').pathToFileURL(__filename).href;` },
  });
  const script = outputFiles.find(({ path: name }) => name.endsWith('.cjs'));
  if (/\bobtain\b/.test(script.text)) throw new Error('the command has something named obtain of its own');
  mkdirSync('dist', { recursive: true });
  for (const { path: name, contents } of outputFiles)
    writeFileSync(name, name === script.path ? script.text.replace(/\bimport\(/g, 'obtain(') : contents);
  await addThread(metafile);
  await build({
    ...common,
    sourcemap: false,
    entryPoints: { cli: 'src/cli/launch.ts' },
    outdir: 'dist',
    outExtension: { '.js': '.cjs' },
    format: 'cjs',
    define: { commandFile: JSON.stringify(path.basename(script.path)) },
    banner: { js: '#!/usr/bin/env node' },
  });
  chmodSync('dist/cli.cjs', 0o755);
}

/** Lets the command run until its compiled code is kept, so that the first start is as fast as the next. */
async function keepCode() {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'wherry-build-'));
  const args = ['dist/cli.cjs', 'up', '--port', '0', '--simulated-nodes', '1', '--data-dir', dataDir];
  // Code that was compiled with extra flags, or with the optimisations off, is not kept.
  const env = { ...process.env };
  delete env.NODE_OPTIONS;
  delete env.WHERRY_PLAIN;
  const child = spawn(process.execPath, args, { stdio: 'ignore', env });
  const exited = once(child, 'exit');
  const kept = () => readdirSync('dist').some((name) => name.endsWith('.code'));
  for (let waited = 0; waited < keepMsMax && child.exitCode === null && !kept(); waited += lookMs)
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  child.kill('SIGTERM');
  await exited;
  rmSync(dataDir, { recursive: true, force: true });
}

rmSync('dist', { recursive: true, force: true });
await Promise.all([library(), command()]);
await keepCode();
