/** The options that choose the store: names, help, and how values are read. */

import type { StartOptions } from '../cluster/index.ts';
import type { RestoreTarget } from '../cluster/store/backup.ts';

const text = { type: 'string', for: ['up', 'serve', 'restore'] } as const;

/** For `parseArgs`. */
export const storeArgs = {
  store: text,
  'in-memory': { type: 'boolean', for: ['up', 'serve'] },
  'etcd-servers': text,
  'etcd-cafile': text,
  'etcd-certfile': text,
  'etcd-keyfile': text,
  'etcd-prefix': text,
  'etcd-servers-overrides': { type: 'string', for: ['up', 'serve'] },
} as const;

export const storeHelp = `  --in-memory           keep objects in memory only; the same as --store memory
  --store KIND          where objects are kept: lmdb, in the data folder; memory; or etcd, which several servers can
                        share (default lmdb)
  --etcd-servers URL,…  members of the etcd that keeps the objects, such as http://127.0.0.1:2379
  --etcd-cafile FILE    authorities that sign the members' certificates
  --etcd-certfile FILE  certificate that this server shows to etcd
  --etcd-keyfile FILE   key of that certificate
  --etcd-prefix PREFIX  what all keys in etcd begin with (default /registry)
  --etcd-servers-overrides /events#URL;…
                        keep events in an etcd of their own
`;

const kinds = ['lmdb', 'memory', 'etcd'] as const;

type StoreValues = {
  readonly [name in Exclude<keyof typeof storeArgs, 'in-memory'>]?: string | undefined;
} & { readonly 'in-memory'?: boolean | undefined; readonly 'data-dir'?: string | undefined };

/** @param refuse throws */
export function readStore(
  values: StoreValues,
  refuse: (message: string) => never,
): Pick<StartOptions, 'store' | 'dataDir' | 'etcd'> {
  const { 'in-memory': inMemory = false, 'data-dir': dataDir } = values;
  if (inMemory && dataDir !== undefined) refuse('--in-memory and --data-dir exclude each other');
  const store = values.store ?? (inMemory ? 'memory' : 'lmdb');
  if (!isKind(store))
    return refuse(`--store must be one of ${kinds.join(', ')}, not ${JSON.stringify(store)}`);
  if (inMemory && store !== 'memory') refuse(`--in-memory and --store ${store} exclude each other`);
  const idle = Object.keys(values).find((name) => name.startsWith('etcd-'));
  if (store !== 'etcd' && idle) refuse(`--${idle} needs --store etcd`);
  if (store === 'memory') return { store };
  const folder = { store, dataDir: dataDir ?? '.wherry' };
  return store === 'etcd' ? { ...folder, etcd: readEtcd(values, refuse) } : folder;
}

/** Where `restore` puts the objects. */
export function readRestoreTarget(values: StoreValues, refuse: (message: string) => never): RestoreTarget {
  const { store, dataDir = '.wherry', etcd } = readStore(values, refuse);
  if (store === 'memory')
    return refuse('a backup is restored into a data folder or into etcd, not into memory');
  return etcd ? { etcd } : { dataDir };
}

const isKind = (store: string): store is (typeof kinds)[number] =>
  (kinds as readonly string[]).includes(store);

function readEtcd(values: StoreValues, refuse: (message: string) => never): StartOptions['etcd'] {
  const servers = (values['etcd-servers'] ?? '').split(',').filter(Boolean);
  if (servers.length === 0)
    refuse('--store etcd needs --etcd-servers, such as --etcd-servers http://127.0.0.1:2379');
  for (const name of ['etcd-cafile', 'etcd-certfile', 'etcd-keyfile', 'etcd-prefix'] as const)
    if (values[name] === '') refuse(`--${name} must not be empty`);
  return {
    servers,
    caFile: values['etcd-cafile'],
    certFile: values['etcd-certfile'],
    keyFile: values['etcd-keyfile'],
    prefix: values['etcd-prefix'],
    eventServers: readOverrides(values['etcd-servers-overrides'], refuse),
  };
}

/** `/events#http://a:2379;http://b:2379`, as kube-apiserver reads it; of resources, events alone can be elsewhere. */
function readOverrides(
  text: string | undefined,
  refuse: (message: string) => never,
): readonly string[] | undefined {
  if (text === undefined) return undefined;
  const [resource, servers = '', ...more] = text.split('#');
  const urls = servers.split(';').filter(Boolean);
  if (resource !== '/events' || more.length > 0 || urls.length === 0)
    return refuse(
      `--etcd-servers-overrides is given as /events#URL;URL, because events alone can be in another etcd, not ${JSON.stringify(text)}`,
    );
  return urls;
}
