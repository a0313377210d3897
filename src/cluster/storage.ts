/** The storage of a cluster: its store, the view of it, and the view's history. */
import path from 'node:path';
import { openReadableView } from '../registry/encryption/readable-view.ts';
import type { View } from '../registry/view/view.ts';
import { StoreMetrics } from '../server/observe/store-metrics.ts';
import type { Store } from '../store/store.ts';
import type { ClusterSettings } from './settings.ts';
import type { Closers } from './shared/closers.ts';
import { StartError } from './shared/start-error.ts';
import { encrypted } from './store/encrypted-store.ts';
import { heldHere, openEventStore } from './store/event-store.ts';
import { openStore } from './store/store-choice.ts';

export interface Storage {
  readonly store: Store;
  readonly metrics: StoreMetrics;
}

export async function openStorage(settings: ClusterSettings, closers: Closers): Promise<Storage> {
  const { options, sources, instruments, copy, kinds } = settings;
  const metrics = new StoreMetrics();
  const opened = await openStore(
    options,
    sources,
    metrics,
    copy?.openStore ? { openStore: copy.openStore } : instruments,
  );
  const store = await encrypted(opened, kinds, options.encryptionConfigFile);
  closers.add(() => store.close(), 'the store');
  if (options.snapshot !== undefined && !copy) await beginWith(options.snapshot, settings, store);
  return { store, metrics };
}

async function beginWith(
  file: string,
  { sources, isShared, addressRange: range }: ClusterSettings,
  store: Store,
): Promise<void> {
  if (isShared)
    throw new StartError(
      'a cluster on etcd does not begin with a snapshot, because others may share it; wherry restore fills it',
    );
  const { writeFirstObjects } = await import('./store/first-objects.ts');
  await writeFirstObjects(store, { file: path.resolve(file), range, uid: () => sources.uid() });
}

/** Opens the view of all objects, whichever store they are in. */
export async function openView(settings: ClusterSettings, store: Store, closers: Closers): Promise<View> {
  const { options, sources, kinds, copy, report, reportLoss } = settings;
  const watched = {
    onError: report,
    onLost: reportLoss,
    dropsSelfLinks: options.like !== undefined && !copy,
    past: copy?.past,
  };
  const view = await openReadableView(store, kinds, { ...watched, holds: heldHere(options) });
  closers.add(() => view.close(), 'the view of the store');
  await openEventStore(options, kinds, sources, view, watched, closers);
  return view;
}
