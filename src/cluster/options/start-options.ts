/** Options of a cluster, and what a started one offers: the types of the embedding API. */
import type { StaticUser } from '../../access/authentication/static-tokens.ts';
import type { RuntimeConfig } from '../../api/values/runtime-config.ts';
import type { ControllerSettings } from '../../controllers/shared/controller.ts';
import type { AdmissionOptions } from '../../registry/admission/plugins.ts';
import type { Sources } from '../../registry/registry.ts';
import type { ManagedFieldsMode } from '../../registry/verbs/ownership.ts';
import type { WatchDefault } from '../../registry/verbs/watch.ts';
import type { HistoryBounds } from '../../registry/view/history.ts';
import type { Limits } from '../../server/http/limits.ts';
import type { AuditOptions } from '../../server/observe/audit-log.ts';
import type { CustomKind } from '../custom-kind.ts';
import type { IngressOptions } from '../node/local-ingress.ts';
import type { NodeOptions } from '../node/node.ts';
import type { SimulatedPower } from '../node/simulated-nodes.ts';
import type { LogOptions } from '../shared/log.ts';
import type { EtcdOptions } from './etcd-options.ts';
import type { SecureOptions } from './secure-options.ts';
import type { ServerSettings } from './server-settings.ts';

export interface StartOptions {
  /**
   * Where objects are kept: in memory, in `dataDir` on disk, or in an etcd that several servers share. Default: `lmdb`
   * when there is a `dataDir`, else `memory`.
   */
  readonly store?: 'memory' | 'lmdb' | 'etcd';
  /** The etcd, for the store `etcd`. */
  readonly etcd?: EtcdOptions;
  /** Folder for objects, pods and logs; made when it does not exist. One server at a time can use it. */
  readonly dataDir?: string;
  /**
   * Answer writes to `dataDir` before they are on disk. They survive the end of the process, but a crash of the machine
   * may damage the data: for tests. Default false.
   */
  readonly unsafeNoFsync?: boolean | undefined;
  /** Address of the local door, which serves plain HTTP; loopback only. Default `127.0.0.1`. */
  readonly host?: string;
  /** Port of the local door. Default 0: any free one. `off` closes it, when there is a secure one. */
  readonly port?: number | 'off';
  /** Open a door over TLS beside the local one, for users who are known and may do what their roles allow. */
  readonly secure?: boolean | SecureOptions;
  /** Which admission plugins run, by Kubernetes' names. Default: all that there are. */
  readonly admission?: AdmissionOptions;
  /** Users of the secure door that get a kubeconfig (`Cluster.kubeconfigFor`), with keys that are in memory only. */
  readonly users?: readonly StaticUser[];
  /** Kinds of the program's own, made by `customKind`, that the cluster serves beside the built-in ones. */
  readonly kinds?: readonly CustomKind[];
  /**
   * Which built-in versions and resources are served, by kube-apiserver's names: `{ 'batch/v1': false }`. `api/all`,
   * `api/ga`, `api/beta` and `api/alpha` stand for all versions of a stage. Default: all that there are.
   */
  readonly runtimeConfig?: RuntimeConfig;
  /** How long and how many changes are kept for watches. Default: 10 minutes, 50,000 changes. */
  readonly history?: Partial<HistoryBounds>;
  /**
   * `kubernetes`: the defaults of `createStatus` and `watchStart`, and the few answers in which Kubernetes 1.1 and a
   * current API server differ, are those of a stock API server of today.
   */
  readonly like?: 'kubernetes';
  /** HTTP code of a create: 200, or 201 as a stock API server answers. Default 200; with `like`, 201. */
  readonly createStatus?: 200 | 201;
  /** Whose writes `metadata.managedFields` names: `all`, those since an object was `applied`, or `off`. Default `all`. */
  readonly managedFields?: ManagedFieldsMode;
  /** Whether containers may be privileged: with an agent of root, such a container keeps all of root's rights. Default false. */
  readonly allowPrivileged?: boolean;
  /** What a watch without a `resourceVersion` begins with. Default `history`; with `like`, `state`. */
  readonly watchStart?: WatchDefault;
  /** Range that services get their addresses from, or one of IPv4 and one of IPv6 with a comma between. Default `10.0.0.0/24`. */
  readonly serviceClusterIPRange?: string;
  /** Ports that services get on every node. Default `30000-32767`. */
  readonly serviceNodePortRange?: string;
  /**
   * Which controllers run beside the API server: all, none, or those of a list such as `['-job', '-scheduler']`
   * (all but these), `['namespace']` (these alone) or `['housekeeping']` (those without which objects that are deleted
   * stay, as `wherry serve` runs them). Default true.
   */
  readonly controllers?: boolean | readonly string[];
  /**
   * Elect one of the servers on the same store to run the controllers, by a Lease. Default: with the store `etcd`; the
   * others can be open in one server only.
   */
  readonly leaderElection?: boolean;
  /** Periods and bounds of single controllers. */
  readonly controllerSettings?: Partial<ControllerSettings>;
  /** Run this machine as a node: pods are processes. Default false. */
  readonly node?: boolean | NodeOptions;
  /** How many simulated nodes there are, which do not run pods but report them as running. Default 0. */
  readonly simulatedNodes?: number;
  /**
   * Make a default StorageClass, `local-path`, at the first start: claims that name no class get a folder on the disk of
   * the node where their pod runs. Default: where this process has nodes.
   */
  readonly defaultStorageClass?: boolean;
  /** Run an ingress controller on these ports. Default: none runs. */
  readonly ingress?: IngressOptions;
  /** Serve the page that shows the cluster to people, at `/ui/` and, for browsers, at `/`. Default true. */
  readonly ui?: boolean;
  /** Settings that kube-apiserver has as flags and few clusters change. */
  readonly apiServer?: ServerSettings;
  /** Limits of requests, watches and connections, and sizes from which on a warning is given. */
  readonly limits?: Partial<Limits>;
  /** File with settings of admission plugins: an AdmissionConfiguration, as kube-apiserver reads it. */
  readonly admissionConfigFile?: string;
  /** File that says which resources are encrypted in the store: an EncryptionConfiguration, as kube-apiserver reads it. */
  readonly encryptionConfigFile?: string;
  /** File of the audit log. Default: none is written. */
  readonly auditLog?: string | AuditOptions;
  /** Called with failures of the server itself, not with refused requests. Default: they are dropped. */
  readonly onError?: (error: Error) => void;
  /**
   * Called once, when the cluster cannot go on because it has lost its store. From then on it answers requests with 503,
   * and is best closed. Default: `onError` is called.
   */
  readonly onFatal?: (error: Error) => void;
  /** Called when there are more objects or bytes than the limits `objectsWarned` and `bytesWarned`. Default: nothing. */
  readonly onWarning?: (message: string) => void;
  /** Told what happens in the cluster: configuration, nodes, pods, slow requests. Default: nothing is told. */
  readonly log?: LogOptions;
  /** Clock, uids and random name suffixes, for tests that need the same ones each time. */
  readonly chance?: Partial<Sources>;
}

export interface Cluster {
  /** Where the API answers, such as `http://127.0.0.1:43121`. */
  readonly url: string;
  /** Where the secure door answers, such as `https://127.0.0.1:43122`; undefined when there is none. */
  readonly secureUrl: string | undefined;
  /** File that holds the administrator's kubeconfig for the secure door; undefined when none was written. */
  readonly kubeconfigFile: string | undefined;
  /** A kubeconfig for the local door or, when that is closed, for the administrator at the secure one; YAML text. */
  readonly kubeconfig: string;
  /** A kubeconfig for a user of the secure door: one of the option `users`, or the administrator, `wherry-admin`. */
  readonly kubeconfigFor: (user: string) => string;
  /** Resolves when the nodes of this process are registered, with a few lines about them for people. */
  readonly nodesReady: Promise<string | undefined>;
  /** Stops and starts single simulated nodes. */
  readonly simulated: SimulatedPower;
  /** Stops serving, and resolves when everything is closed. Safe to call twice. */
  close(): Promise<void>;
}
