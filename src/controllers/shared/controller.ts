/**
 * Controllers: each watches some kinds, puts keys of objects into a work queue, and reconciles their state.
 * `namespaces.ts` is a good example to start with.
 */
import type { X509Certificate } from 'node:crypto';
import { StatusError } from '../../api/errors/errors.ts';
import type { Node, ServiceAccount } from '../../api/generated/types.ts';
import type { Kind, ResourceId, Verb } from '../../api/kind/kind.ts';
import { semanticEqual } from '../../api/text/object.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Authority } from '../../pki/authority.ts';
import type { QuotaAccounts } from '../../registry/admission/quota-accounts.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Request } from '../../registry/request.ts';
import { targetOf } from '../../registry/target.ts';
import { modify } from '../../registry/verbs/modify.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { everything } from '../../registry/view/filter.ts';
import { Watcher } from '../../registry/view/watcher.ts';
import type { WriterName } from '../../registry/writers.ts';
import type { Writing } from '../../registry/writing.ts';
import type { PodIndex } from './pod-index.ts';

/** Settings of controllers, with Kubernetes' defaults. */
export interface ControllerSettings {
  /** A node whose lease and status are older than this becomes `Ready: Unknown`. */
  readonly nodeGraceMs: number;
  /** Nodes per second whose pods are evicted, in a zone where few nodes are lost. */
  readonly nodeEvictionRate: number;
  /** The same where many are lost, in a zone with many nodes; in smaller ones no pods are evicted then. */
  readonly secondaryNodeEvictionRate: number;
  /** The share of nodes from which on many are lost. */
  readonly unhealthyZoneThreshold: number;
  /** A zone with more nodes than this has many. */
  readonly largeClusterSizeThreshold: number;
  /** Finished pods that are kept; the oldest beyond that are deleted. */
  readonly finishedPodsMax: number;
  /** Events are deleted this long after they were last written. */
  readonly eventLifeMs: number;
  /** How often autoscalers compare the usage of pods with their target. */
  readonly autoscalerSyncMs: number;
  /** Every service account gets a secret with a token without expiry, as in Kubernetes 1.1. */
  readonly serviceAccountTokenSecrets: boolean;
  /** How long a deleted namespace keeps its content, so that clients can see that it is going. */
  readonly namespaceGraceMs: number;
  /**
   * The garbage collector deletes only dependents of owners that it has seen being deleted, not those of owners that
   * never were: tests make objects with owners that they made up.
   */
  readonly collectOnlyDeletedOwners: boolean;
}

export const defaultSettings: ControllerSettings = {
  nodeGraceMs: 50_000,
  nodeEvictionRate: 0.1,
  secondaryNodeEvictionRate: 0.01,
  unhealthyZoneThreshold: 0.55,
  largeClusterSizeThreshold: 50,
  finishedPodsMax: 12_500,
  eventLifeMs: 3_600_000,
  autoscalerSyncMs: 15_000,
  serviceAccountTokenSecrets: false,
  namespaceGraceMs: 0,
  collectOnlyDeletedOwners: false,
};

/** Usage of a pod: thousandths of a core, and bytes of working set memory. */
interface PodUsage {
  readonly milliCpu: number;
  readonly memoryBytes: number;
}

/** The authority of the cluster, for controllers that sign and publish certificates. */
export interface ClusterTrust {
  /** Signs certificates of users and nodes as clients of the API. */
  readonly authority: Authority;
  /**
   * Signs serving certificates of node agents. The API server accepts only these from agents; no door accepts them from
   * clients.
   */
  readonly nodeAuthority: () => Promise<Authority>;
  /** The serving certificates of the secure door. */
  readonly shown: readonly X509Certificate[];
  /** PEM certificates by which clients in the cluster verify the API server. */
  readonly rootCertificates: string;
  /** Calls back when one of them has changed; returns a function that stops this. */
  follow(changed: () => void): () => void;
}

/** Folders of volumes on the disks of nodes, made and removed by the nodes themselves. */
export interface NodeVolumes {
  /** Makes the folder of a volume below a folder with a relative path; returns its path. Can be repeated. */
  make(node: Node, name: string, under: string): Promise<string>;
  /** Removes the folder of a volume, or only if it is empty. Can be repeated. */
  remove(node: Node, name: string, path: string, onlyEmpty?: boolean): Promise<void>;
  /** Paths of the folders that a node has. */
  list(node: Node): Promise<string[]>;
}

/** Signs tokens of service accounts. */
interface AccountTokens {
  /** A token without expiry, to be stored in a secret. */
  legacy(account: ServiceAccount, secretName: string): Promise<string>;
}

export interface ControllerContext {
  readonly registry: Registry;
  /** For verbs that write. */
  readonly writing: Writing;
  /** The usage of quotas by namespace, as admission keeps it. */
  readonly quotas: QuotaAccounts;
  readonly tokens: AccountTokens;
  /** Absent without a secure door: then no certificates are signed or published. */
  readonly trust?: ClusterTrust | undefined;
  /** Absent where nodes cannot be reached: then no volumes are provisioned. */
  readonly nodeVolumes?: NodeVolumes | undefined;
  /** Usage of the pods of a namespace, by name; absent where no metrics are available. */
  readonly podUsage?: (namespace: string) => Promise<ReadonlyMap<string, PodUsage>>;
  readonly settings: ControllerSettings;
  /** Called for errors; the controller continues. */
  readonly onError: (error: Error) => void;
}

/** What a controller is started with: the parts that all controllers share, and its own user. */
export interface SharedContext extends ControllerContext {
  readonly pods: PodIndex;
  /** A request of this controller to the registry. */
  readonly request: (verb: Verb) => Request;
}

/** Everything needed to write as a controller. */
export type Writer = Pick<SharedContext, 'registry' | 'writing' | 'request' | 'trust'>;

export interface RunningController {
  /** Whether it has seen all changes, and has no work that is due now or soon. */
  readonly settled: boolean;
  /** The names of the controllers that have work, where several run as one. */
  readonly busy?: readonly string[];
  close(): Promise<void>;
}

export interface Controller {
  /** Its name in `--controllers`. */
  readonly name: string;
  /**
   * Whether it belongs to the API itself: it finishes deletions, or creates what every namespace has. Without it a
   * server would accept such requests and never complete them, so it runs wherever the API does.
   */
  readonly housekeeping?: true;
  /** The user of its writes. */
  readonly writer: WriterName;
  start(context: SharedContext): RunningController;
}

/** A subscription to the objects of a kind. */
export interface Observation {
  /** Whether all changes so far have been delivered. */
  readonly caughtUp: boolean;
  close(): void;
}

/** A controller made of observations, of parts that do the work, mostly queues, and an optional event recorder. */
export function running(
  observations: readonly Observation[],
  parts: readonly RunningController[],
  recorder?: EventRecorder,
): RunningController {
  return {
    get settled() {
      return (
        observations.every(({ caughtUp }) => caughtUp) &&
        parts.every(({ settled }) => settled) &&
        recorder?.idle !== false
      );
    },
    close: async () => {
      for (const observation of observations) observation.close();
      await Promise.all(parts.map((part) => part.close()));
      await recorder?.flushed();
    },
  };
}

/** A controller that has nothing to do on this server. */
export const idle: RunningController = { settled: true, close: () => Promise.resolve() };

/** A change of an object: `entry` is its new state, undefined when it was deleted; `previous` the state before. */
export type Observer = (entry: Entry | undefined, previous: Entry | undefined) => void;

/** After an error, an observer gets all objects again after this time. */
const anewAfterMs = 1_000;

/** Calls the observer for every existing object of a kind, and for every change from then on. */
export function observe(
  { registry, onError }: ControllerContext,
  of: Kind | ResourceId,
  observer: Observer,
): Observation {
  const collection = registry.view.collection(of);
  let timer: NodeJS.Timeout | undefined;
  const open = (): Watcher => {
    const start = { state: collection.select(everything).entries, position: collection.endNumber };
    const watcher = new Watcher(collection, everything, start, {
      send: (notices) => {
        for (const notice of notices) {
          const { event } = notice;
          if (event) observer(event.entry, event.previous);
          else observer(notice.entry, undefined);
        }
        return true;
      },
      stateSent: () => undefined,
      // An observer applies no back-pressure and cannot fall behind; should it, it starts again.
      expired: () => {
        current = open();
      },
      failed: (error) => {
        onError(error as Error);
        timer = setTimeout(() => {
          timer = undefined;
          current = open();
        }, anewAfterMs);
        timer.unref();
      },
    });
    watcher.pump();
    return watcher;
  };
  let current = open();
  return {
    get caughtUp() {
      return timer === undefined && current.caughtUp;
    },
    close: () => {
      clearTimeout(timer);
      current.close();
    },
  };
}

/** Awaits a write to an object that another client may delete or replace meanwhile. False: that has happened. */
export async function ifUnchanged(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (!(error instanceof StatusError && (error.code === 404 || error.code === 409))) throw error;
    return false;
  }
}

/**
 * Writes the status of an object, computed from the state in `entry`, and its annotations if given. False: the object
 * has changed or is gone, and its change brings the key back.
 */
export async function writeStatus(
  { writing, request }: Writer,
  entry: Entry,
  status: object,
  annotations: Record<string, string> | undefined = entry.peek().metadata.annotations,
): Promise<boolean> {
  const before = entry.peek();
  if (semanticEqual(before.status, status) && semanticEqual(before.metadata.annotations, annotations))
    return true;
  return ifUnchanged(
    modify(writing, request('update'), targetOf(entry, 'status'), () => {
      // The resourceVersion makes the write fail if the state is no longer current.
      const object = entry.object();
      object.metadata.annotations = annotations && { ...annotations };
      return { ...object, status: structuredClone(status) };
    }),
  );
}

/** Whether a write was refused because its namespace is being deleted: no retry is needed. */
export const isNamespaceTerminating = (error: unknown): boolean =>
  error instanceof StatusError &&
  (error.status.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') ?? false);

/** Keys of namespaced objects in a work queue. */
export const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;
export const fromKey = (key: string): [namespace: string, name: string] =>
  key.split('/') as [namespace: string, name: string];
