/** Where objects are kept. */
import { type Given, group, handedIn, type OptionsOf, optionFor } from './option.ts';
import { filled, items, on, oneOfSaying, text } from './values.ts';

const option = optionFor('up', 'serve');
const alsoRestore = optionFor('up', 'serve', 'restore');
const etcdText = (shown: string) => filled(shown, 'not be empty');

const etcdOptions = {
  /** Addresses of its members, such as `http://127.0.0.1:2379`; one is in use, the others if it fails. */
  servers: alsoRestore<readonly string[]>({
    flag: 'etcd-servers',
    needed: ['serve', 'restore'],
    value: { shown: 'URL,…', form: 'text', joins: ',', read: ([given = '']) => items(given) },
    text: 'members of the etcd that keeps the objects, such as http://127.0.0.1:2379',
  }),
  /** File with the authorities that sign the members' certificates, in PEM. Default: those that Node trusts. */
  caFile: alsoRestore<string>({
    flag: 'etcd-cafile',
    value: etcdText('FILE'),
    text: "authorities that sign the members' certificates",
  }),
  /** Files with the certificate and key that this server shows to etcd, in PEM. Default: it shows none. */
  certFile: alsoRestore<string>({
    flag: 'etcd-certfile',
    value: etcdText('FILE'),
    text: 'certificate that this server shows to etcd',
  }),
  keyFile: alsoRestore<string>({
    flag: 'etcd-keyfile',
    value: etcdText('FILE'),
    text: 'key of that certificate',
  }),
  /** What all keys begin with. Servers with the same prefix are one cluster. Default `/registry`. */
  prefix: alsoRestore<string>({
    flag: 'etcd-prefix',
    value: etcdText('PREFIX'),
    text: 'what all keys in etcd begin with',
    default: '/registry',
  }),
  /** Members of another etcd, which keeps events. Default: events are with all other objects. */
  eventServers: option<readonly string[]>({
    flag: 'etcd-servers-overrides',
    value: {
      shown: '/events#URL;…',
      form: 'text',
      read: ([given = ''], flag, refuse) =>
        eventServers(given) ??
        refuse(
          `${flag} is given as /events#URL;URL, because events alone can be in another etcd, not ${JSON.stringify(given)}`,
        ),
    },
    text: 'keep events in an etcd of their own',
  }),
};

/** The etcd that holds the objects, for the store `etcd`. */
export type EtcdOptions = OptionsOf<typeof etcdOptions, 'servers'>;

/** The default of the prefix is that of Kubernetes, whose tools find the objects there. */
export const etcdPrefix = etcdOptions.prefix;

/** `/events#http://a:2379;http://b:2379`, as kube-apiserver reads it; of resources, events alone can be elsewhere. */
function eventServers(given: string): readonly string[] | undefined {
  const [resource, servers = '', ...more] = given.split('#');
  const urls = servers.split(';').filter(Boolean);
  return resource === '/events' && more.length === 0 && urls.length > 0 ? urls : undefined;
}

function isEtcdGiven({ flags, last, refuse }: Given): boolean {
  if (last('store') !== 'etcd')
    return flags[0] === undefined ? false : refuse(`--${flags[0]} needs --store etcd`);
  if (items(last('etcd-servers') ?? '').length === 0)
    refuse('--store etcd needs --etcd-servers, such as --etcd-servers http://127.0.0.1:2379');
  return true;
}

export const folderOptions = {
  /** Folder for objects, pods and logs; made when it does not exist. One server at a time can use it. */
  dataDir: option<string>({
    flag: 'data-dir',
    needed: ['up', 'serve'],
    value: text('FOLDER'),
    text: 'where objects, pods and logs are kept (default: up as --name says, serve .wherry)',
  }),
  /**
   * Answer writes to `dataDir` before they are on disk. They survive the end of the process, but a crash of the machine
   * may damage the data: for tests. Default false.
   */
  unsafeNoFsync: handedIn<boolean>(),
};

/** The short way to the store `memory`, for the command alone. */
export const memoryFlag = {
  inMemory: option<boolean>({
    flag: 'in-memory',
    needed: ['up', 'serve'],
    value: on,
    text: 'keep objects in memory only; the same as --store memory',
  }),
};

const storeValue = oneOfSaying(
  'KIND',
  ['lmdb', 'memory', 'etcd'],
  (value) => `there is no store ${value}; there are memory, lmdb and etcd`,
);

export const storeOptions = {
  /**
   * Where objects are kept: in memory, in `dataDir` on disk, or in an etcd that several servers share. Default: `lmdb`
   * when there is a `dataDir`, else `memory`.
   */
  store: option<'memory' | 'lmdb' | 'etcd'>({
    flag: 'store',
    needed: ['serve'],
    value: storeValue,
    text: 'where objects are kept: lmdb, in the data folder; memory; or etcd, which several servers can\nshare',
    default: 'lmdb',
  }),
  /** The etcd, for the store `etcd`. */
  etcd: group<EtcdOptions>(etcdOptions, { isGiven: isEtcdGiven }),
  /**
   * A file with the objects that a cluster begins with when it has none yet: a snapshot, or a backup. One in memory
   * begins with them at every start. Default: the cluster begins empty.
   */
  snapshot: option<string>({
    flag: 'snapshot',
    value: filled('FILE', 'name a file'),
    text: 'a snapshot or backup whose objects a cluster begins with that has none yet; one in memory does\nso at every start',
  }),
};

const onlyRestore = optionFor('restore');

/** Where `wherry restore` puts the objects. */
export const restoreOptions = {
  dataDir: onlyRestore<string>({
    flag: 'data-dir',
    value: text('FOLDER'),
    text: 'the folder to make; it must not hold objects yet',
    default: '.wherry',
  }),
  store: onlyRestore<'memory' | 'lmdb' | 'etcd'>({
    flag: 'store',
    value: storeValue,
    shown: 'etcd',
    text: 'restore into an etcd, with the --etcd-… options of serve; it must not hold objects under the\nprefix yet',
  }),
};
