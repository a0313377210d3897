/**
 * Controllers: each watches some kinds, keeps keys of objects to look at in a work queue, and brings the world in
 * line with what they say. Reading one should teach how to write the next: `namespaces.ts` is a good first.
 */
import { StatusError } from '../../api/errors.ts';
import type { Kind, ResourceId, Verb } from '../../api/kind.ts';
import { semanticEqual } from '../../api/object.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Entry } from '../../registry/entry.ts';
import { Filter } from '../../registry/filter.ts';
import { modify } from '../../registry/modify.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Request } from '../../registry/request.ts';
import { targetOf } from '../../registry/target.ts';
import { Watcher } from '../../registry/watcher.ts';
import type { WriterName } from '../../registry/writers.ts';
import type { PodIndex } from './podindex.ts';

/** What can be set about controllers, with Kubernetes' defaults. */
export interface ControllerSettings {
  /** A node whose lease and status are older than this becomes `Ready: Unknown`. */
  readonly nodeGraceMs: number;
  /** Finished pods that are kept; the oldest beyond that are deleted. */
  readonly finishedPodsMax: number;
  /** Events are deleted this long after they were last written. */
  readonly eventLifeMs: number;
  /** How often autoscalers compare the usage of pods with their target. */
  readonly autoscalerSyncMs: number;
  /** Every account has a secret with a token that does not end, as in 1.1. */
  readonly serviceAccountTokenSecrets: boolean;
}

export const defaultSettings: ControllerSettings = {
  nodeGraceMs: 50_000,
  finishedPodsMax: 12_500,
  eventLifeMs: 3_600_000,
  autoscalerSyncMs: 15_000,
  serviceAccountTokenSecrets: false,
};

/** What a pod uses: thousandths of a core, and memory it works with. */
interface PodUsage {
  readonly milliCpu: number;
  readonly memoryBytes: number;
}

export interface ControllerContext {
  readonly registry: Registry;
  /** What the pods of a namespace use, by name, as their nodes tell; absent where nobody asks nodes. */
  readonly podUsage?: (namespace: string) => Promise<ReadonlyMap<string, PodUsage>>;
  readonly settings: ControllerSettings;
  /** Told of failures; the controller goes on. */
  readonly onError: (error: Error) => void;
}

/** What a controller is started with: what all of a process share, and in whose name it writes. */
export interface SharedContext extends ControllerContext {
  readonly pods: PodIndex;
  /** A request of this controller to the registry. */
  readonly request: (verb: Verb) => Request;
}

/** What it takes to write. */
export type Writing = Pick<SharedContext, 'registry' | 'request'>;

export interface RunningController {
  /** Whether it has seen all there is, and has nothing left to do that is due now or soon. */
  readonly settled: boolean;
  close(): Promise<void>;
}

export interface Controller {
  /** By which it is chosen. */
  readonly name: string;
  /**
   * It does what belongs to the API itself: objects that are deleted go, and namespaces have what every namespace has.
   * A server without it answers requests and never finishes what they began, so it runs where the API runs.
   */
  readonly housekeeping?: true;
  /** Who it is to the registry. */
  readonly writer: WriterName;
  start(context: SharedContext): RunningController;
}

/** A subscription to the objects of a kind. */
export interface Observation {
  /** Whether everything that has happened has been told. */
  readonly caughtUp: boolean;
  close(): void;
}

/** A controller made of observations, of parts that do the work, mostly queues, and perhaps a recorder of events. */
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

/** What happened to an object: `entry` is how it is now, undefined when it is gone; `previous` how it was. */
export type Observer = (entry: Entry | undefined, previous: Entry | undefined) => void;

/** An observer that has failed is shown everything anew after this time. */
const anewAfterMs = 1_000;

/** Calls the observer for every object of a kind that there is, and for every change from then on. */
export function observe(
  { registry, onError }: ControllerContext,
  of: Kind | ResourceId,
  observer: Observer,
): Observation {
  const collection = registry.view.collection(of);
  const everything = new Filter(undefined, undefined, undefined, undefined);
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
      // An observer takes everything at once and cannot fall behind; should it, it begins anew.
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

/**
 * Waits for a write to an object that another client may delete, or replace by another, meanwhile. False: that is
 * what has happened.
 */
export async function tolerant(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (!(error instanceof StatusError && (error.code === 404 || error.code === 409))) throw error;
    return false;
  }
}

/**
 * Writes the status of an object, as worked out from the state in `entry`, and its annotations if they are given.
 * False: the object has changed since, or is gone. Nothing needs to be done then, as the change brings the object's
 * key back.
 */
export async function writeStatus(
  { registry, request }: Writing,
  entry: Entry,
  status: object,
  annotations = entry.peek().metadata.annotations,
): Promise<boolean> {
  const before = entry.peek();
  if (semanticEqual(before.status, status) && semanticEqual(before.metadata.annotations, annotations))
    return true;
  return tolerant(
    modify(registry, request('update'), targetOf(entry, 'status'), () => {
      // Its resourceVersion makes the write fail when the state is no longer current.
      const object = entry.object();
      object.metadata.annotations = annotations && { ...annotations };
      return { ...object, status: structuredClone(status) };
    }),
  );
}

/** Whether a write was refused because its namespace is going away: there is nothing to do but to wait. */
export const isNamespaceTerminating = (error: unknown): boolean =>
  error instanceof StatusError &&
  (error.status.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') ?? false);

/** Keys of namespaced objects in a work queue. */
export const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;
export const fromKey = (key: string): [namespace: string, name: string] =>
  key.split('/') as [namespace: string, name: string];
