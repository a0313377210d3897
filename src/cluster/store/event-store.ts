/**
 * Events in an etcd of their own: a second store with its own revisions, and a view of it. The resourceVersion of an
 * event, or of a list of events, is that of this store.
 */
import type { ResourceId } from '../../api/kind/kind.ts';
import type { KindTable } from '../../api/kinds/kinds.ts';
import { openReadableView } from '../../registry/encryption/readable-view.ts';
import type { Sources } from '../../registry/registry.ts';
import { defaultHistory, History } from '../../registry/view/history.ts';
import type { View, ViewOptions } from '../../registry/view/view.ts';
import type { StartOptions } from '../options/start-options.ts';
import type { Closers } from '../shared/closers.ts';
import { encrypted } from './encrypted-store.ts';
import { etcdStoreOptions } from './store-choice.ts';

const events: ResourceId = 'core/events';

/** Which kinds are in the cluster's own store. */
export const heldHere = ({ etcd }: StartOptions): ViewOptions['holds'] =>
  etcd?.eventServers ? (id) => id !== events : undefined;

/** Opens the second store, if there is one, and connects the view to it. */
export async function openEventStore(
  options: StartOptions,
  kinds: KindTable,
  { nowMs }: Sources,
  view: View,
  viewOptions: ViewOptions,
  closers: Closers,
): Promise<void> {
  const servers = options.etcd?.eventServers;
  if (!servers) return;
  const { openEtcdStore } = await import('../../store/etcd/etcd-store.ts');
  const asked = await etcdStoreOptions({ ...options, etcd: { ...options.etcd, servers } });
  const opened = await openEtcdStore({ ...asked, now: nowMs });
  const store = await encrypted(opened, kinds, options.encryptionConfigFile);
  closers.add(() => store.close());
  const other = await openReadableView(store, kinds, { ...viewOptions, holds: (id) => id === events });
  closers.add(() => other.close());
  const bounds = { ...defaultHistory, ...options.history };
  const history = new History(store, other, bounds, nowMs, viewOptions.onError ?? (() => undefined), true);
  closers.add(() => history.close());
  view.lead(events, other);
}
