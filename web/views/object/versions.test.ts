/** Proves that changes of status are folded, that writers are told apart, and which writes are the user's own. */
import { expect, it } from 'vitest';
import { itemsOf, mine, type Version, versionOf, writersOf } from './versions.ts';

/** Entries as the server keeps them: one per manager and subresource, with whole seconds. */
const entries = new Map<string, object>();

const objectOf = (version: number, replicas: number, ready: number): any => ({
  metadata: {
    name: 'web',
    uid: 'u',
    resourceVersion: String(version),
    generation: replicas,
    managedFields: [...entries.values()],
  },
  spec: { replicas },
  status: { ready },
});

const versions: Version[] = [];
const write = (name: string, replicas: number, ready: number): void => {
  const version = versions.length + 1;
  const subresource = name === 'kube-controller-manager' ? 'status' : undefined;
  const time = '2026-01-01T00:00:00Z';
  // An entry that is changed is another one, except for status, where the same fields are written again.
  const fields = subresource ? 'status' : String(version);
  entries.set(name, { manager: name, operation: 'Update', subresource, time, fields });
  const object = objectOf(version, replicas, ready);
  const type = version === 1 ? 'ADDED' : 'MODIFIED';
  versions.push(versionOf({ type, version, object }, versions.at(-1)?.change.object));
};
write('kubectl-create', 1, 0);
write('kube-controller-manager', 1, 1);
write('kube-controller-manager', 1, 2);
write('Mozilla', 3, 2);
write('kube-controller-manager', 3, 3);
write('operator', 4, 3);

const shape = (writer: string) =>
  itemsOf(versions, writer).map((item) =>
    item.type === 'version' ? item.version.change.version : item.versions.map(({ change }) => change.version),
  );

it('shows what was asked for, the latest first, and folds what came of it', () => {
  expect(shape('')).toEqual([6, [5], 4, [3, 2], 1]);
});

it('shows the versions of one writer, and those written by hand', () => {
  expect(shape('kube-controller-manager')).toEqual([[5, 3, 2]]);
  expect(shape(mine)).toEqual([4, 1]);
  expect(writersOf(versions)[0]).toEqual(['kube-controller-manager', 3]);
});
