/**
 * Controllers: each watches some kinds, keeps keys of objects to look at in a work queue, and brings the world in
 * line with what they say. Reading one should teach how to write the next: `namespaces.ts` is a good first.
 */
import { StatusError } from '../api/errors.ts';
import type { Entry } from '../registry/entry.ts';
import { Filter } from '../registry/filter.ts';
import type { Registry } from '../registry/registry.ts';
import { Watcher } from '../registry/watcher.ts';

/** What can be set about controllers, with Kubernetes' defaults. */
export interface ControllerSettings {
  /** A node that has not been heard of for this long is not known to be well. */
  readonly nodeGraceMs: number;
  /** Finished pods kept; the oldest beyond that go. */
  readonly finishedPodsMax: number;
  /** Events live this long after they were last written. */
  readonly eventLifeMs: number;
  /** How often autoscalers look at what their pods use. */
  readonly autoscalerSyncMs: number;
}

export const defaultSettings: ControllerSettings = {
  nodeGraceMs: 50_000,
  finishedPodsMax: 12_500,
  eventLifeMs: 3_600_000,
  autoscalerSyncMs: 15_000,
};

export interface ControllerContext {
  readonly registry: Registry;
  readonly settings: ControllerSettings;
  /** Told of failures; the controller goes on. */
  readonly onError: (error: Error) => void;
}

export interface RunningController {
  /** Whether it has nothing left to do, as far as it knows. */
  readonly settled: boolean;
  close(): Promise<void>;
}

export interface Controller {
  readonly name: string;
  start(context: ControllerContext): RunningController;
}

/** What happened to an object: `entry` is how it is now, undefined when it is gone; `previous` how it was. */
export type Observer = (entry: Entry | undefined, previous: Entry | undefined) => void;

/** An observer that has failed is shown everything anew after this time. */
const anewAfterMs = 1_000;

/** Calls the observer for every object of a resource that there is, and for every change from then on. */
export function observe(
  { registry, onError }: ControllerContext,
  resource: string,
  observer: Observer,
): { close(): void } {
  const collection = registry.view.collection(resource);
  const everything = new Filter(undefined, undefined, undefined, undefined);
  let timer: NodeJS.Timeout | undefined;
  const open = (): Watcher => {
    const start = { state: collection.select(everything).entries, position: collection.endNumber };
    const watcher = new Watcher(collection, everything, start, {
      send: (notices) => {
        for (const { entry, event } of notices) {
          if (event) observer(event.entry, event.previous);
          else observer(entry, undefined);
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
    close: () => {
      clearTimeout(timer);
      current.close();
    },
  };
}

/** Waits for a write to an object that somebody else may delete, or replace by another, meanwhile. */
export async function tolerant(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!(error instanceof StatusError && (error.code === 404 || error.code === 409))) throw error;
  }
}
