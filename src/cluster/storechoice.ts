/** Opens the store that the options ask for. An engine is loaded only when it is chosen. */
import { readFile } from 'node:fs/promises';
import { formerKeys } from '../registry/formerkeys.ts';
import type { Chance } from '../registry/registry.ts';
import type { StoreMetrics } from '../server/observe/storemetrics.ts';
import type { EtcdTls } from '../store/etcd/connection.ts';
import { upgradedSentence } from '../store/format.ts';
import { openMemoryStore } from '../store/memory.ts';
import type { Store } from '../store/store.ts';
import type { StartOptions } from './start.ts';
import { StartError } from './starterror.ts';

/** The etcd that holds the objects, for the store `etcd`. */
export interface EtcdOptions {
  /** Addresses of its members, such as `http://127.0.0.1:2379`; one is in use, the others if it fails. */
  readonly servers: readonly string[];
  /** File with the authorities that sign the members' certificates, in PEM. Default: those that Node trusts. */
  readonly caFile?: string;
  /** Files with the certificate and key that this server shows to etcd, in PEM. Default: it shows none. */
  readonly certFile?: string;
  readonly keyFile?: string;
  /** What all keys begin with. Servers with the same prefix are one cluster. Default `/registry`. */
  readonly prefix?: string;
}

type StoreKind = NonNullable<StartOptions['store']>;

const defaultEtcdPrefix = '/registry';

export const storeKind = ({ store, dataDir }: StartOptions): StoreKind =>
  store ?? (dataDir === undefined ? 'memory' : 'lmdb');

/** Whether other servers may use the same store. */
export const isShared = (options: StartOptions): boolean => storeKind(options) === 'etcd';

export async function openStore(
  options: StartOptions,
  { nowMs }: Chance,
  metrics: StoreMetrics,
): Promise<Store> {
  const kind = storeKind(options);
  const observed = {
    now: nowMs,
    observe: (...write: Parameters<StoreMetrics['observe']>) => metrics.observe(...write),
  };
  if (options.etcd && kind !== 'etcd') throw new StartError('the option "etcd" needs the store "etcd"');
  if (kind === 'memory') return openMemoryStore(observed);
  if (kind === 'etcd') {
    const { servers, prefix } = checkedEtcd(options.etcd);
    const tls = await readTls(options.etcd!);
    const { openEtcdStore } = await import('../store/etcd/etcdstore.ts');
    return openEtcdStore({ urls: servers, tls, prefix, onWarning: options.onWarning, ...observed });
  }
  if (kind !== 'lmdb')
    throw new StartError(`there is no store ${JSON.stringify(kind)}; there are memory, lmdb and etcd`);
  if (options.dataDir === undefined) throw new StartError('the lmdb store needs a data folder');
  const { openLmdbStore } = await import('../store/lmdb.ts');
  return openLmdbStore({
    dataDir: options.dataDir,
    upgrade: formerKeys,
    onUpgraded: (upgraded) => options.onWarning?.(upgradedSentence(options.dataDir!, upgraded)),
    ...observed,
  });
}

function checkedEtcd(options: EtcdOptions | undefined): { servers: readonly string[]; prefix: string } {
  const { servers = [], prefix = defaultEtcdPrefix, certFile, keyFile } = options ?? {};
  if (servers.length === 0) throw new StartError('the etcd store needs the addresses of its members');
  for (const server of servers)
    if (!URL.canParse(server) || !/^https?:\/\/[^/]+\/?$/.test(server))
      throw new StartError(
        `a member of etcd is given as http://HOST:PORT or https://HOST:PORT, not ${JSON.stringify(server)}`,
      );
  if (!/^\/[^\0/]/.test(prefix) || prefix.includes('\0'))
    throw new StartError(
      `the prefix in etcd must begin with a slash and have a name, not ${JSON.stringify(prefix)}`,
    );
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new StartError('a certificate for etcd needs its key, and a key its certificate');
  return { servers, prefix };
}

async function readTls({ caFile, certFile, keyFile }: EtcdOptions): Promise<EtcdTls> {
  const read = async (file: string | undefined): Promise<Buffer | undefined> => {
    try {
      return file === undefined ? undefined : await readFile(file);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new StartError(`the file ${file} for etcd cannot be read (${code})`, { cause: error });
    }
  };
  const [ca, cert, key] = await Promise.all([read(caFile), read(certFile), read(keyFile)]);
  return { ca, cert, key };
}
