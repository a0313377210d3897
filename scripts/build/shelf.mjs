/**
 * Keeps code that few clusters run (container engines, etcd as the store, the recorder, some commands) compressed among
 * the tables: a quarter of its size. It is a script of its own, the shelf, that takes what it shares with the bundle
 * from there, so that every module is there once. It is read when the first of its modules is imported.
 *
 * esbuild splits ES modules alone, so this takes three runs before the bundle's own: which modules the bundle has
 * without the shelf, which of their names the shelf uses, and the shelf itself.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { compressed } from './tables.mjs';

/** The modules that `import()` takes from the shelf, each with all that the bundle does not need without it. */
const shelved = [
  'access/authentication/configured-issuers',
  'access/authentication/token-webhook',
  'api/minors/minor',
  'api/protobuf/text-message',
  'cli/completion',
  'cli/dump-summary',
  'cli/import-summary',
  'cli/snapshot-command',
  'cluster/access/bootstrap-tokens',
  'cluster/access/user-kubeconfig',
  'cluster/config/config-command',
  'cluster/config/lifecycle-file',
  'cluster/import-load',
  'cluster/manifests/manifests',
  'cluster/node/lifecycles',
  'cluster/options/admission-file',
  'cluster/options/encryption-file',
  'cluster/past/asked-server',
  'cluster/past/change-list',
  'cluster/past/past-objects',
  'cluster/past/problems',
  'cluster/recorder',
  'cluster/store/backup',
  'cluster/store/import-pages',
  'cluster/store/snapshot-pages',
  'controllers/autoscaling',
  'envtest/assets',
  'extensions/aggregation/discovery-check',
  'extensions/aggregation/remote-connection',
  'node/runtime/cri/cri-api',
  'node/runtime/cri/cri-calls',
  'node/runtime/cri/cri-runtime',
  'node/runtime/docker/docker-api',
  'node/runtime/docker/docker-calls',
  'node/runtime/docker/docker-runtime',
  'node/runtime/engine/engine-leftovers',
  'server/aggregated/aggregated-proxy',
  'server/forwards/forwards-page',
  'server/observe/audit-policy',
  'server/observe/audit-webhook',
  'server/past/past-pages',
  'server/problems/problems-page',
  'server/samples/samples-page',
  'server/search/search-page',
  'store/etcd/etcd-restore',
  'store/etcd/etcd-store',
  'store/restore',
].map((name) => `src/${name}.ts`);

const fileName = 'shelf.cjs';
const sharedModule = 'shelf shared';

/**
 * The plugin for the bundle, which makes the shelf.
 * @param options of the bundle's own build
 * @param finish changes the script as the bundle's
 */
export async function shelf(options, finish) {
  for (const file of shelved) if (!existsSync(file)) throw new Error(`there is no ${file} for the shelf`);
  const inBundle = await bundleModules(options);
  const shared = await sharedNames(options, inBundle);
  const { outputFiles } = await buildShelf(
    options,
    fromBundle(inBundle, (file) => shared.get(file).taken),
  );
  const script = outputFiles.find(({ path: file }) => file.endsWith('.cjs'));
  const maps = outputFiles.filter((file) => file !== script);
  return { plugin: bundlePlugin(finish(script.text), [...shared.values()]), maps };
}

/** A file from the root of the repository, so that nothing of the machine is in what is built. */
const resolved = ({ path: name, resolveDir }) => fromRoot(path.resolve(resolveDir, name));
const fromRoot = (file) => path.relative('', file).replaceAll(path.sep, '/');

/** The files that the bundle contains without the shelf. */
async function bundleModules(options) {
  const leaveOut = {
    name: 'without the shelf',
    setup({ onResolve }) {
      onResolve({ filter: /^\./ }, (asked) =>
        asked.kind === 'dynamic-import' && shelved.includes(resolved(asked))
          ? { path: asked.path, external: true }
          : undefined,
      );
    },
  };
  const plugins = [leaveOut, ...options.plugins];
  const { metafile } = await build({ ...options, plugins, sourcemap: false });
  return new Set(Object.keys(metafile.inputs));
}

/** Makes the shelf take modules of the bundle from code that `load` gives for each; without it, by their paths. */
const fromBundle = (inBundle, load) => ({
  name: 'modules of the bundle',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: new RegExp(`^${sharedModule}$`) }, ({ path: name }) => ({
      path: name,
      external: true,
    }));
    onResolve({ filter: /^\./ }, (asked) => {
      const file = resolved(asked);
      if (!inBundle.has(file)) return undefined;
      return load ? { path: file, namespace: 'bundle' } : { path: `bundle:${file}`, external: true };
    });
    onLoad({ filter: /./, namespace: 'bundle' }, ({ path: file }) => ({ contents: load(file) }));
  },
});

const buildShelf = ({ entryPoints: _, entryNames: __, outdir, ...options }, plugin) =>
  build({
    ...options,
    stdin: {
      contents: `export const modules = [${shelved.map((file) => `() => require('./${file}')`)}];`,
      resolveDir: process.cwd(),
    },
    outfile: path.join(outdir, fileName),
    plugins: [plugin],
  });

/**
 * By module of the bundle, code that exports what the shelf uses of it, and code by which the shelf takes that. The names
 * are read from a shelf that is an ES module. Of a module that the shelf imports late, it takes all.
 */
async function sharedNames(options, inBundle) {
  const form = { ...options, format: 'esm', sourcemap: false, minifyWhitespace: true };
  const { outputFiles } = await buildShelf(form, fromBundle(inBundle));
  const { text } = outputFiles[0];
  const late = new Set([...text.matchAll(/\bimport\("bundle:([^"]+)"\)/g)].map(([, file]) => file));
  const used = new Map([...late].map((file) => [file, new Set()]));
  for (const [, names, file] of text.matchAll(/\bimport(?:\{([^}]*)\}from)?"bundle:([^"]+)"/g)) {
    const own = (names?.split(',') ?? []).map((name) => name.split(' as ')[0]);
    used.set(file, new Set([...(used.get(file) ?? []), ...own]));
  }
  let count = 0;
  return new Map(
    [...used].map(([file, names]) => {
      const next = () => `s${count++}`;
      return [file, late.has(file) ? allOf(file, next()) : namesOf(file, [...names], next)];
    }),
  );
}

const allOf = (file, name) => ({
  given: `export * as ${name} from './${file}';`,
  taken: `module.exports = require('${sharedModule}').${name};`,
});

function namesOf(file, names, next) {
  const pairs = names.map((own) => [own, next()]);
  return {
    given: `export { ${pairs.map(([own, name]) => `${own} as ${name}`)} } from './${file}';`,
    taken: `export { ${pairs.map(([own, name]) => `${name} as ${own}`)} } from '${sharedModule}';`,
  };
}

/** Gives the bundle the modules of the shelf in place of their files. */
const bundlePlugin = (text, shared) => ({
  name: 'shelf',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^shelf/ }, ({ path: name }) => ({ path: name, namespace: 'shelf' }));
    onResolve({ filter: /^\./ }, (asked) =>
      asked.kind === 'dynamic-import' && shelved.includes(resolved(asked))
        ? { path: `module ${shelved.indexOf(resolved(asked))}`, namespace: 'shelf' }
        : undefined,
    );
    const load = (filter, contents) =>
      onLoad({ filter, namespace: 'shelf' }, (asked) => ({
        contents: contents(asked),
        resolveDir: process.cwd(),
      }));
    load(/^module /, ({ path: name }) => `module.exports = require('shelf').shelved(${name.slice(7)});`);
    load(/^shelf shared$/, () => shared.map(({ given }) => given).join('\n'));
    load(
      /^shelf$/,
      () => `import { Script } from 'node:vm';
        import path from 'node:path';
        import * as shared from '${sharedModule}';
        ${compressed(`(function (exports, require, module, __filename, __dirname) {${text}\n})`)}
        let modules;
        const open = () => {
          const filename = path.join(__dirname, '${fileName}');
          const shelf = { exports: {} };
          const required = (name) => (name === '${sharedModule}' ? shared : require(name));
          new Script(read(), { filename }).runInThisContext()(shelf.exports, required, shelf, filename, __dirname);
          return shelf.exports.modules;
        };
        export const shelved = (at) => (modules ??= open())[at]();`,
    );
  },
});
