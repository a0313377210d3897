/** What a checkout of Kubernetes serves and prints beside the shapes of its objects. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const textOf = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : '');

/** Resources by version: `{ 'apps/v1': { deployments: {kind, namespaced, verbs, …} } }`, subresources as `pods/status`. */
export function readResources(folder) {
  const place = join(folder, 'api/discovery');
  const versions = {};
  if (!existsSync(place)) return versions;
  for (const name of readdirSync(place).filter((one) => /^(api__|apis__.*__)v\w+\.json$/.test(one))) {
    const { groupVersion, resources } = JSON.parse(readFileSync(join(place, name), 'utf8'));
    versions[groupVersion] = Object.fromEntries(
      resources.map(({ name: resource, storageVersionHash: _, ...rest }) => [resource, rest]),
    );
  }
  return versions;
}

/** `{ GateName: { stage: 'Beta', on: true, locked: false } }`: the newest state of each gate. */
export function readGates(folder) {
  const text = textOf(join(folder, 'test/compatibility_lifecycle/reference/versioned_feature_list.yaml'));
  const gates = {};
  for (const part of text.split(/^- name: /m).slice(1)) {
    const name = part.slice(0, part.indexOf('\n')).trim();
    const last = part.split(/^ {2}- /m).at(-1);
    const said = (key) => new RegExp(`${key}: "?([\\w.]+)`).exec(last)?.[1];
    gates[name] = {
      stage: said('preRelease') ?? 'Alpha',
      on: said('default') === 'true',
      locked: said('lockToDefault') === 'true',
    };
  }
  return gates;
}

/** Columns of `kubectl get` by kind: `{ Pod: [['Name', 'string', 'name', 0], …] }`. */
export function readColumns(folder) {
  const text = textOf(join(folder, 'pkg/printers/internalversion/printers.go'));
  const lists = new Map();
  const declared = /(\w+) :?= (?:append\(\w+, )?\[\]metav1\.TableColumnDefinition\{\n([\s\S]*?)\n\t\}/g;
  for (const [, name, body] of text.matchAll(declared)) {
    const columns = [...body.matchAll(/\{Name: "([^"]*)", Type: "([^"]*)"(.*)/g)].map(
      ([, column, type, rest]) => [
        column,
        type,
        /Format: "([^"]*)"/.exec(rest)?.[1] ?? '',
        Number(/Priority: (\d+)/.exec(rest)?.[1] ?? 0),
      ],
    );
    lists.set(name, [...(lists.get(name) ?? []), ...columns]);
  }
  const columns = {};
  for (const [, list, printer] of text.matchAll(/TableHandler\((\w+), (\w+)\)/g)) {
    const kind = new RegExp(`func ${printer}\\(\\w+ \\*\\w+\\.(\\w+),`).exec(text)?.[1];
    if (kind && !kind.endsWith('List') && lists.has(list)) columns[kind] = lists.get(list);
  }
  return columns;
}

/** Announced ends by version and kind: `{ 'apps-v1beta1': { Deployment: { deprecated: '1.8', removed: '1.16' } } }`. */
export function readLifecycle(folder) {
  const api = join(folder, 'staging/src/k8s.io/api');
  const found = {};
  for (const word of foldersIn(api))
    for (const version of foldersIn(join(api, word))) {
      const text = textOf(join(api, word, version, 'zz_generated.prerelease-lifecycle.go'));
      const kinds = {};
      for (const [, kind, what, major, minor] of text.matchAll(
        /func \(in \*(\w+)\) APILifecycle(Deprecated|Removed)\(\)[^{]*\{\s*return (\d+), (\d+)/g,
      ))
        (kinds[kind] ??= {})[what.toLowerCase()] = `${major}.${minor}`;
      if (Object.keys(kinds).length) found[`${word}-${version}`] = kinds;
    }
  return found;
}

function foldersIn(path) {
  if (!existsSync(path)) return [];
  const entries = readdirSync(path, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}
