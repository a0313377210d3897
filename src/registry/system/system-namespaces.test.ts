/** System namespaces: created at start, and restored after deletion. */

import { expect, test } from 'vitest';
import { KindTable } from '../../api/kinds/kinds.ts';
import { openMemoryStore } from '../../store/memory.ts';
import { admissionChain } from '../admission/plugins.ts';
import { asTester } from '../request.fixture.ts';
import { remove } from '../verbs/delete.ts';
import { modify } from '../verbs/modify.ts';
import { View } from '../view/view.ts';
import { makeWriting } from '../writing.ts';
import { ensureSystemNamespaces, SystemNamespaces } from './system-namespaces.ts';

test('what is missing is made, what is there is left alone', async () => {
  const store = openMemoryStore();
  const kinds = new KindTable();
  const view = await View.open(store, kinds);
  let uids = 0;
  const sources = { nowMs: () => 0, uid: () => `uid-${++uids}`, randomBelow: () => 0 };
  const writing = makeWriting(store, view, kinds, sources, { admission: admissionChain });
  const system = new SystemNamespaces(writing, (error) => {
    throw error;
  });
  await system.start();
  const uid = (name: string) => view.collection('core/namespaces').get('', name)?.object().metadata.uid;
  const before = ['default', 'kube-system', 'kube-public', 'kube-node-lease'].map(uid);
  expect(new Set(before).size).toBe(4);

  const kind = kinds.resource('v1', 'namespaces')!;
  await remove(
    writing,
    asTester('delete'),
    { kind, namespace: '', name: 'kube-node-lease', part: 'main' },
    {},
  );
  await modify(
    writing,
    asTester('update'),
    { kind, namespace: '', name: 'kube-node-lease', part: 'finalize' },
    (current) => ({
      ...current.object(),
      spec: {},
    }),
  );
  expect(uid('kube-node-lease')).toBeUndefined();
  await ensureSystemNamespaces(writing);
  expect(uid('kube-node-lease')).toBe('uid-5');
  expect(['default', 'kube-system', 'kube-public'].map(uid)).toEqual(before.slice(0, 3));
  await system.close();
  view.close();
  await store.close();
});
