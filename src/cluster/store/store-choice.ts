/** Opens the store that the options ask for. An engine is loaded only when it is chosen. */
import { defaultSettings } from '../../controllers/shared/controller.ts';
import { formerKeys } from '../../registry/former-keys.ts';
import type { Sources } from '../../registry/registry.ts';
import type { StoreMetrics } from '../../server/observe/store-metrics.ts';
import type { EtcdStoreOptions } from '../../store/etcd/etcd-store.ts';
import { upgradedSentence } from '../../store/format.ts';
import { openMemoryStore } from '../../store/memory.ts';
import { SEPARATOR, type Store } from '../../store/store.ts';
import { checkedEtcd, readTls } from '../options/etcd-options.ts';
import type { StartOptions } from '../options/start-options.ts';
import type { Instruments } from '../shared/instruments.ts';
import { StartError } from '../shared/start-error.ts';

const eventKeys = `core/events${SEPARATOR}`;

type StoreKind = NonNullable<StartOptions['store']>;

export const storeKind = ({ store, dataDir }: StartOptions): StoreKind =>
  store ?? (dataDir === undefined ? 'memory' : 'lmdb');

/** Whether other servers may use the same store. */
export const isShared = (options: StartOptions): boolean => storeKind(options) === 'etcd';

/** Opens a store in the place of the one in memory. */
interface StoreOpener {
  openStore(options: Parameters<Instruments['openStore']>[0]): Store | Promise<Store>;
}

export async function openStore(
  options: StartOptions,
  { nowMs }: Sources,
  metrics: StoreMetrics,
  instruments?: StoreOpener,
): Promise<Store> {
  const kind = storeKind(options);
  const observed = {
    now: nowMs,
    observe: (...write: Parameters<StoreMetrics['observe']>) => metrics.observe(...write),
  };
  if (options.etcd && kind !== 'etcd') throw new StartError('the option "etcd" needs the store "etcd"');
  if (kind === 'memory') return instruments?.openStore(observed) ?? openMemoryStore(observed);
  if (kind === 'etcd') {
    const { openEtcdStore } = await import('../../store/etcd/etcd-store.ts');
    return openEtcdStore({ ...(await etcdStoreOptions(options)), ...observed });
  }
  if (options.dataDir === undefined) throw new StartError('the lmdb store needs a data folder');
  const { openLmdbStore } = await import('../../store/lmdb.ts');
  return openLmdbStore({
    dataDir: options.dataDir,
    unsafeNoFsync: options.unsafeNoFsync,
    upgrade: formerKeys,
    onUpgraded: (upgraded) => options.onWarning?.(upgradedSentence(options.dataDir!, upgraded)),
    ...observed,
  });
}

/** The options of the etcd store, with the files they name. */
export async function etcdStoreOptions({
  etcd,
  controllerSettings,
  onWarning,
}: Pick<StartOptions, 'etcd' | 'controllerSettings' | 'onWarning'>): Promise<EtcdStoreOptions> {
  const { servers, prefix } = checkedEtcd(etcd);
  const eventLifeMs = controllerSettings?.eventLifeMs ?? defaultSettings.eventLifeMs;
  return {
    urls: servers,
    tls: await readTls(etcd!),
    prefix,
    onWarning,
    lifeMs: (key) => (key.startsWith(eventKeys) ? eventLifeMs : undefined),
  };
}
