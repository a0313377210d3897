/**
 * Builds `dist/`, without types (see build-types.mjs):
 *
 *   wherry-HASH.cjs   the bundle: one file loads several times faster than hundreds
 *   tables.bin        compressed: the tables of the bundle, and code that few clusters run (see build/tables.mjs, build/shelf.mjs)
 *   importer.cjs      dynamic imports for the bundle
 *   LICENSES.txt      of the packages that the bundle contains
 *   index.cjs         for `require('wherry')`: the public names of the bundle
 *   index.js          for `import 'wherry'`: the same
 *   testing*.js, .cjs for `wherry/testing`, and with the hooks of a test runner for `wherry/testing/vitest`, …
 *   lmdbthread.cjs    the thread that writes to LMDB
 *   cli.cjs           the command: runs the bundle with compiled code (see src/program/bundle-load.ts)
 *   ui/               the page that the server serves at /ui/ (see build/web.mjs)
 *   envtest-*.cjs     etcd and kube-apiserver as test harnesses start them (see src/envtest/assets.ts)
 *
 * `--package` is for publishing: names are shortened, which makes the package a quarter smaller, and what is compressed is
 * compressed as well as possible, which takes five seconds.
 * `--source-maps` writes source maps too, for debugging. The code is the same without, so that stack traces of a
 * published version can be resolved with maps made later.
 */
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { bundledLmdb, licencesOf } from './build/lmdb.mjs';
import { shelf } from './build/shelf.mjs';
import { compressed, tables, writeTables } from './build/tables.mjs';
import { buildThread, defineThread } from './build/thread.mjs';
import { buildWeb } from './build/web.mjs';
import { groupFiles, kindsFolder } from './generate-groups.mjs';

const { values: asked } = parseArgs({
  options: { package: { type: 'boolean' }, 'source-maps': { type: 'boolean' } },
});
const folder = path.resolve('dist');
const small = asked.package ?? false;

/**
 * Loads field tables as text, of which each model is parsed as JSON when it is first used: a start uses few of them, and V8
 * parses JSON several times faster than JavaScript. They are kept compressed, a table each: a fifth of their size, and the
 * largest is read in half a millisecond.
 */
const fieldTables = {
  name: 'field tables',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^lazy table$/ }, ({ path }) => ({ path, namespace: 'field tables' }));
    onLoad({ filter: /^lazy table$/, namespace: 'field tables' }, () => ({
      contents: `export function lazyTable(apiVersion, read) {
        let models;
        const define = () => {
          const table = {};
          for (const line of read().split('\\n')) {
            const end = line.indexOf(':');
            let model;
            Object.defineProperty(table, line.slice(0, end), {
              enumerable: true,
              get: () => (model ??= JSON.parse(line.slice(end + 1))),
            });
          }
          return table;
        };
        return { apiVersion, get models() { return (models ??= define()); } };
      }`,
    }));
    onLoad({ filter: /\.fields\.json$/ }, async ({ path }) => {
      const { apiVersion, models } = JSON.parse(await readFile(path, 'utf8'));
      const text = Object.entries(models)
        .map(([name, model]) => `${name}:${JSON.stringify(model)}`)
        .join('\n');
      return {
        contents: `import { lazyTable } from 'lazy table';
          ${compressed(text)}
          export default lazyTable(${JSON.stringify(apiVersion)}, read);`,
      };
    });
  },
};

/** Descriptions are long and seldom read, so they are kept compressed, all in one: a quarter of their size. */
const descriptions = {
  name: 'descriptions',
  setup({ onEnd, onLoad }) {
    let found = false;
    onEnd(() => {
      if (!found) throw new Error('the bundle has no descriptions');
    });
    onLoad({ filter: /api\/generated\/descriptions\.ts$/ }, async () => {
      found = true;
      const ending = '.descriptions.json';
      const tables = {};
      for (const file of groupFiles('.', ending))
        tables[path.basename(file, ending)] = JSON.parse(
          await readFile(path.join(kindsFolder, file), 'utf8'),
        );
      const text = JSON.stringify(tables);
      return { contents: `${compressed(text)} export const tableDescriptions = JSON.parse(read());` };
    });
  },
};

/**
 * The flags and feature gates of kube-apiserver are read by its stand-in alone, and what earlier minors served by a
 * cluster of such a minor, so they are kept compressed.
 */
const seldomReadJson = /(envtest\/(apiserver-flags|feature-gates)|minors\/(versions|former-tables))\.json$/;
const seldomRead = {
  name: 'data that is seldom read',
  setup({ onLoad }) {
    onLoad({ filter: seldomReadJson }, async ({ path }) => {
      const { legend: _, ...data } = JSON.parse(await readFile(path, 'utf8'));
      const text = JSON.stringify(data);
      return { contents: `${compressed(text)} export default JSON.parse(read());` };
    });
  },
};

/** The default roles are lines of text that repeat many words, so they are kept compressed. */
const defaultRoles = {
  name: 'default roles',
  setup({ onLoad }) {
    onLoad({ filter: /authorization\/bootstrap-lines\.ts$/ }, async ({ path }) => {
      const exported = [...(await readFile(path, 'utf8')).matchAll(/^export const (\w+) = `([^`$\\]*)`;$/gm)];
      if (!exported.length) throw new Error('the default roles have another form');
      const texts = JSON.stringify(exported.map(([, , text]) => text));
      const names = exported.map(([, name]) => name).join(', ');
      return { contents: `${compressed(texts)} const [${names}] = JSON.parse(read()); export { ${names} };` };
    });
  },
};

/** For every script: minified for a faster start, but with names where they are looked at, in stack traces and profiles. */
const common = {
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'cjs',
  packages: 'external',
  minifyWhitespace: true,
  minifySyntax: true,
  minifyIdentifiers: asked.package ?? false,
  logLevel: 'warning',
  outdir: folder,
  outExtension: { '.js': '.cjs' },
};

/**
 * Code from V8's cache cannot use dynamic import, so the bundle calls a function of another file. Its name is
 * as long as the keyword `import`, so that source maps stay valid.
 */
const importer = 'summon';

/**
 * Modules of Node that few starts use. Loading them took a start 7 ms, so the bundle calls a function that loads each
 * when one of its members is first read; its name is as long as `require`.
 */
const loadedLate = [
  'child_process',
  'dns/promises',
  'fs/promises',
  'http2',
  'perf_hooks',
  'v8',
  'worker_threads',
];
const late = 'lateMod';
const lateLoader = `${late} = (name) => new Proxy({}, { get: (_, member) => require(name)[member] })`;

/**
 * Writes the bundle; returns its file name, which contains a hash of its contents. It is ASCII alone, so that V8 keeps
 * its text in one byte for each character.
 */
async function bundle(webInputs) {
  const options = {
    ...common,
    entryPoints: { wherry: 'src/cli/bundle.ts' },
    entryNames: '[name]-[hash]',
    write: false,
    metafile: true,
    sourcemap: asked['source-maps'] ?? false,
    plugins: [tables, fieldTables, descriptions, seldomRead, defaultRoles, bundledLmdb],
    define: { ...defineThread, 'import.meta.url': 'moduleUrl' },
    // Strict mode for the whole file, like the modules it is made of. esbuild's own directive, one for each module, took
    // 19 kB, and at the beginning of the file it would come after these declarations and have no effect.
    tsconfigRaw: { compilerOptions: { target: 'ES2023', verbatimModuleSyntax: true, alwaysStrict: false } },
    banner: {
      js: `'use strict';const moduleUrl = require('node:url').pathToFileURL(__filename).href, ${importer} = require('./importer.cjs'), ${lateLoader};`,
    },
  };
  const seldomRun = await shelf(options, withLoaders);
  const { outputFiles, metafile } = await build({
    ...options,
    plugins: [seldomRun.plugin, ...options.plugins],
  });
  const script = outputFiles.find(({ path: name }) => name.endsWith('.cjs'));
  for (const { path: name, contents } of [...outputFiles, ...seldomRun.maps])
    writeFileSync(name, name === script.path ? withLoaders(script.text) : contents);
  writeFileSync(path.join(folder, 'importer.cjs'), 'module.exports = (name) => import(name);\n');
  writeFileSync(
    path.join(folder, 'LICENSES.txt'),
    licencesOf({ inputs: { ...metafile.inputs, ...webInputs } }),
  );
  return path.basename(script.path);
}

function withLoaders(text) {
  for (const own of [importer, late])
    if (text.match(new RegExp(`\\b${own}\\b`, 'g')).length > 1)
      throw new Error(`the bundle has something named ${own} of its own`);
  const foreign = /[^\0-\x7f]/.exec(text);
  if (foreign)
    throw new Error(`the bundle has a character that is not ASCII: ${around(text, foreign.index)}`);
  return text
    .replace(/\bimport\(/g, `${importer}(`)
    .replace(new RegExp(`\\brequire(?=\\("(?:node:)?(?:${loadedLate.join('|')})"\\))`, 'g'), late);
}

const around = (text, at) => JSON.stringify(text.slice(Math.max(0, at - 40), at + 40));

/** The exported names are written out, so that Node finds them without parsing the whole bundle. */
function library(bundleFile) {
  const {
    runCommand: _,
    runApiServer: __,
    testing,
    ...exported
  } = createRequire(import.meta.url)(path.join(folder, bundleFile));
  const names = Object.keys(exported).sort().join(', ');
  writeFileSync(
    path.join(folder, 'index.cjs'),
    `const { ${names} } = require('./${bundleFile}');\nmodule.exports = { ${names} };\n`,
  );
  writeFileSync(path.join(folder, 'index.js'), `export { ${names} } from './index.cjs';\n`);
  testKit(bundleFile, Object.keys(testing).sort().join(', '));
}

/** The hooks of test runners. Vitest cannot be required, so its CommonJS form takes them from where `globals` puts them. */
const runners = {
  vitest: { import: `import * as hooks from 'vitest';`, require: 'const hooks = globalThis;' },
  jest: { import: 'const hooks = globalThis;', require: 'const hooks = globalThis;' },
  node: {
    import: `import { after, before, beforeEach } from 'node:test';\nconst hooks = { beforeAll: before, beforeEach, afterAll: after };`,
    require: `const { after, before, beforeEach } = require('node:test');\nconst hooks = { beforeAll: before, beforeEach, afterAll: after };`,
  },
};

/** `wherry/testing`, and one file for each test runner that adds `useCluster`. */
function testKit(bundleFile, names) {
  const write = (name, text) => writeFileSync(path.join(folder, name), text);
  write(
    'testing.cjs',
    `const { ${names} } = require('./${bundleFile}').testing;\nmodule.exports = { ${names} };\n`,
  );
  write('testing.js', `export { ${names} } from './testing.cjs';\n`);
  for (const [runner, hooks] of Object.entries(runners)) {
    const useCluster = 'useCluster = clusterHooks(hooks);\n';
    write(
      `testing-${runner}.js`,
      `${hooks.import}\nimport { clusterHooks } from './testing.js';\nexport * from './testing.js';\nexport const ${useCluster}`,
    );
    write(
      `testing-${runner}.cjs`,
      `${hooks.require}\nconst { ${names} } = require('./testing.cjs');\nconst ${useCluster}module.exports = { ${names}, useCluster };\n`,
    );
  }
}

/**
 * Programs tell a Node that is too old that it is: first of all, and in words of JavaScript that such a Node reads, to
 * which the rest of the program is translated, too.
 */
const oldNode = 'es2015';
const [, major, minor] = /^>=(\d+)\.(\d+)$/.exec(
  JSON.parse(await readFile('package.json', 'utf8')).engines.node,
);
const nodeCheck = `(function (version) {
  var own = version.split('.');
  if (own[0] > ${major} || (own[0] == ${major} && own[1] >= ${minor})) return;
  console.error('wherry: this is Node ' + version + ', and Wherry needs ${major}.${minor} or newer (https://nodejs.org)');
  process.exit(1);
})(process.versions.node);`;

async function commands(bundleFile) {
  const launched = { ...common, target: oldNode, define: { bundleFile: JSON.stringify(bundleFile) } };
  const banner = { js: `#!/usr/bin/env node\n${nodeCheck}` };
  await build({ ...launched, entryPoints: { cli: 'src/cli/launch.ts' }, banner });
  const programs = ['etcd', 'apiserver'].map((name) => [`envtest-${name}`, `src/envtest/launch-${name}.ts`]);
  await build({ ...launched, entryPoints: Object.fromEntries(programs), banner: { js: nodeCheck } });
  chmodSync(path.join(folder, 'cli.cjs'), 0o755);
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
const webInputs = await buildWeb(path.join(folder, 'ui'), { small });
const bundleFile = await bundle(webInputs);
writeTables(folder, { small });
library(bundleFile);
const { minifyWhitespace, minifySyntax, minifyIdentifiers, logLevel } = common;
await buildThread(folder, { minifyWhitespace, minifySyntax, minifyIdentifiers, logLevel });
await commands(bundleFile);
