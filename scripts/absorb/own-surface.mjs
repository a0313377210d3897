/** What this project has, in the form in which a checkout of Kubernetes is read. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { groupFiles, kindsFolder } from '../generate-groups.mjs';

const ending = '.fields.json';

/** The field tables, by name, with the paths of their files. A kind may have a table of its own: `networking-v1-ingress`. */
export function readOwnTables(root) {
  return groupFiles(root, ending).map((file) => {
    const path = join(root, kindsFolder, file);
    return { name: basename(path, ending), path, table: JSON.parse(readFileSync(path, 'utf8')) };
  });
}

/** Tables of one version as one; models that no checkout has are marked. */
export function joinedTables(files) {
  const tables = {};
  for (const { name, table } of files) {
    const [word, version] = name.split('-');
    const joined = (tables[`${word}-${version}`] ??= { models: {} });
    Object.assign(joined.models, table.models);
  }
  return tables;
}

/** `{ GateName: 'free' | 'on' | 'off' }`, as kube-apiserver's flag has them. */
export function readOwnGates(root) {
  const lists = JSON.parse(readFileSync(join(root, 'src/envtest/feature-gates.json'), 'utf8'));
  return Object.fromEntries(['free', 'on', 'off'].flatMap((list) => lists[list].map((name) => [name, list])));
}

/** Resources by version, and columns by kind: what the code of the project says. */
export async function readOwnSurface(root) {
  const folder = mkdtempSync(join(tmpdir(), 'absorb-'));
  try {
    const outfile = join(folder, 'surface.mjs');
    const contents = `
      import { columnDefinitions } from './src/api/kind/table.ts';
      import { KindTable } from './src/api/kinds/kinds.ts';
      import { Discovery } from './src/server/discovery/discovery.ts';
      import { servedComputedVersions } from './src/server/route-table.ts';
      const kinds = new KindTable();
      const discovery = new Discovery(kinds, servedComputedVersions(kinds));
      export const resources = Object.fromEntries(discovery.served().map((version) => [
        version,
        Object.fromEntries(discovery.resourceList(version).resources.map(({ name, ...rest }) => [name, rest])),
      ]));
      export const columns = Object.fromEntries([...kinds].map((kind) => [
        kind.kind,
        columnDefinitions(kind).map(({ name, type, format, priority }) => [name, type, format, priority]),
      ]));`;
    await build({
      stdin: { contents, resolveDir: root, loader: 'ts' },
      bundle: true,
      platform: 'node',
      format: 'esm',
      logLevel: 'error',
      external: ['lmdb'],
      outfile,
    });
    const { resources, columns } = await import(pathToFileURL(outfile).href);
    return { resources, columns };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
