/**
 * The cost of one RBAC decision with 1,000 roles and 10,000 bindings: of a question that was asked before, of one with another
 * name each time, and of the first one after a role has changed. `node bench/decisions.mjs` measures it alone.
 */
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const roles = 1_000;
const bindings = 10_000;
const users = 1_000;
const group = 'rbac.authorization.k8s.io';

/** The parts of the server that decide, without the rest of it. */
const source = `
export { KindTable } from './src/api/kinds/kinds.ts';
export { openMemoryStore } from './src/store/memory.ts';
export { View } from './src/registry/view/view.ts';
export { makeWriting } from './src/registry/writing.ts';
export { admissionChain } from './src/registry/admission/plugins.ts';
export { collectionOf } from './src/registry/target.ts';
export { actingAs } from './src/registry/writers.ts';
export { makeAuthorizer } from './src/access/authorization/make-authorizer.ts';
export { ensureDefaultPolicy } from './src/access/authorization/bootstrap.ts';
`;

async function parts() {
  const root = path.resolve(import.meta.dirname, '..');
  const outfile = path.join(tmpdir(), `wherry-decisions-${process.pid}.mjs`);
  await build({
    stdin: { contents: source, resolveDir: root, loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    outfile: path.join(root, 'node_modules', '.cache', path.basename(outfile)),
    logLevel: 'error',
  });
  const file = path.join(root, 'node_modules', '.cache', path.basename(outfile));
  try {
    return await import(pathToFileURL(file).href);
  } finally {
    await rm(file);
  }
}

/** Processor time since a time before, in microseconds: other programs do not count. */
const processorSince = (begun) => {
  const { user, system } = process.cpuUsage(begun);
  return user + system;
};

/** Microseconds of processor time per call: the best of several rounds. */
function microseconds(count, ask) {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round++) {
    const begun = process.cpuUsage();
    for (let at = 0; at < count; at++) ask(at + round * count);
    best = Math.min(best, processorSince(begun) / count);
  }
  return best;
}

export async function decisions() {
  const made = await parts();
  const kinds = new made.KindTable();
  const store = made.openMemoryStore();
  const view = await made.View.open(store, kinds);
  let uids = 0;
  const chance = { nowMs: Date.now, uid: () => `uid-${uids++}`, randomBelow: () => 0 };
  const writing = made.makeWriting(store, view, kinds, chance, { admission: made.admissionChain });
  const plant = (resource, namespace, object) =>
    writing.registry.seed(
      made.actingAs('kube-apiserver', 'create'),
      made.collectionOf(kinds.resource(`${group}/v1`, resource), namespace),
      object,
    );
  await made.ensureDefaultPolicy(writing);
  const rule = (at) => ({
    verbs: ['get', 'list', 'watch'],
    apiGroups: ['', 'apps'],
    resources: [`things${at % 50}`, 'pods', 'pods/log'],
    ...(at % 3 ? {} : { resourceNames: ['a', 'b'] }),
  });
  const writes = [];
  for (let at = 0; at < roles; at++)
    writes.push(
      plant('clusterroles', '', { metadata: { name: `role-${at}` }, rules: [rule(at), rule(at + 1)] }),
    );
  for (let at = 0; at < bindings; at++)
    writes.push(
      plant('rolebindings', `ns-${at % 100}`, {
        metadata: { name: `binding-${at}` },
        roleRef: { apiGroup: group, kind: 'ClusterRole', name: `role-${at % roles}` },
        subjects: [
          { kind: 'User', apiGroup: group, name: `user-${at % users}` },
          { kind: 'Group', apiGroup: group, name: `team-${at % 50}` },
        ],
      }),
    );
  await Promise.all(writes);
  const { authorizer } = await made.makeAuthorizer({}, writing.registry);
  const people = Array.from({ length: users }, (_, at) => ({
    name: `user-${at}`,
    groups: [`team-${at % 50}`, `team-${(at + 7) % 50}`, 'system:authenticated'],
    extra: {},
  }));
  const asked = (at, name) => ({
    user: people[at % users],
    info: {
      verb: 'get',
      path: '',
      resource: {
        group: '',
        version: 'v1',
        resource: 'pods',
        subresource: undefined,
        namespace: `ns-${at % 100}`,
        name,
      },
    },
  });
  let allowed = 0;
  const ask = (attributes) => {
    if (authorizer.decide(attributes).allowed) allowed++;
  };
  ask(asked(0, 'x'));
  const known = Array.from({ length: users }, (_, at) => asked(at, 'x'));
  const figures = { 'asked before': microseconds(200_000, (at) => ask(known[at % users])) };
  figures['another name each time'] = microseconds(50_000, (at) => ask(asked(at, `pod-${at}`)));
  let first = 0;
  const changes = 200;
  for (let at = 0; at < changes; at++) {
    await plant('clusterroles', '', { metadata: { name: `new-${at}` }, rules: [rule(at)] });
    const begun = process.cpuUsage();
    ask(asked(at, 'x'));
    first += processorSince(begun);
  }
  figures['first after a change'] = first / changes;
  view.close();
  await store.close();
  return { figures, allowed };
}

if (process.argv[1] === import.meta.filename) {
  const { figures } = await decisions();
  for (const [name, value] of Object.entries(figures)) console.log(`${name}: ${value.toFixed(2)} µs`);
}
