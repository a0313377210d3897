/** Waiting for an object, by a watch: the condition is asked at once, and at every change. */
import { inspect } from 'node:util';
import type { Event } from '../api/generated/types.ts';
import type { Registry } from '../registry/registry.ts';
import type { Place } from '../registry/target.ts';
import type { Entry } from '../registry/view/entry.ts';
import { filterOf } from '../registry/view/selection.ts';
import { Watcher } from '../registry/view/watcher.ts';
import { eventsAbout } from './object-events.ts';

/** An object as the API shows it. */
// biome-ignore lint/suspicious/noExplicitAny: objects of all kinds, whose fields tests read without casts.
export type AnyObject = Record<string, any>;

/**
 * What is waited for: `exists`, `deleted`, a type of condition that is to be `True`, such as `Available`, or a function
 * of the object, which gets undefined while the object does not exist.
 */
export type Condition = string | ((object: AnyObject | undefined) => boolean | undefined);

const eventsShown = 20;

/** Resolves with the first state that fits; undefined if the condition fits that the object does not exist. */
export function waitForObject(
  registry: Registry,
  place: Place,
  condition: Condition,
  timeoutMs: number,
): Promise<AnyObject | undefined> {
  const collection = registry.view.collection(place.kind);
  const filter = filterOf(place.kind, { namespace: place.namespace, name: place.name });
  const fits = asFunction(condition);
  return new Promise((resolve, reject) => {
    let last: AnyObject | undefined;
    let watcher: Watcher | undefined;
    let over = false;
    const end = (settle: () => void): void => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      watcher?.close();
      settle();
    };
    const look = (entry: Entry | undefined): void => {
      last = entry?.shown(place.kind) as AnyObject | undefined;
      try {
        if (fits(last)) end(() => resolve(last));
      } catch (error) {
        end(() => reject(error));
      }
    };
    const timer = setTimeout(
      () => end(() => reject(new Error(failure(registry, place, condition, timeoutMs, last)))),
      timeoutMs,
    );
    const open = (): void => {
      look(collection.get(place.namespace, place.name));
      if (over) return;
      watcher = new Watcher(
        collection,
        filter,
        { state: undefined, position: collection.endNumber },
        {
          send: (notices) => {
            for (const { type, entry } of notices) if (!over) look(type === 'DELETED' ? undefined : entry);
            return true;
          },
          stateSent: () => undefined,
          expired: open,
          ended: () => end(() => reject(new Error(`the kind ${place.kind.kind} is not served any more`))),
        },
      );
    };
    open();
  });
}

function asFunction(condition: Condition): Exclude<Condition, string> {
  if (typeof condition === 'function') return condition;
  if (condition === 'exists') return (object) => object !== undefined;
  if (condition === 'deleted') return (object) => object === undefined;
  return (object) => conditionOf(object, condition)?.status === 'True';
}

const conditionOf = (object: AnyObject | undefined, wanted: string): AnyObject | undefined =>
  (object?.status?.conditions as AnyObject[] | undefined)?.find(({ type }) => type === wanted);

function failure(
  registry: Registry,
  place: Place,
  condition: Condition,
  timeoutMs: number,
  last: AnyObject | undefined,
): string {
  const { kind, namespace, name } = place;
  const wanted = typeof condition === 'string' ? JSON.stringify(condition) : `the condition ${condition}`;
  const { managedFields: _, ...metadata } = (last?.metadata ?? {}) as AnyObject;
  const state = last
    ? inspect({ ...last, metadata }, { depth: 12, breakLength: 100, maxStringLength: 500 })
    : 'there is no such object';
  const events = eventsAbout(registry, place).slice(-eventsShown).map(eventLine);
  return [
    `${kind.kind} ${namespace ? `${namespace}/` : ''}${name} did not reach ${wanted} within ${timeoutMs} ms.`,
    `Its last state: ${state}`,
    events.length ? `Its events:\n${events.join('\n')}` : 'It has no events.',
  ].join('\n');
}

const eventLine = ({ type, reason, message, count }: Event): string =>
  `  ${type} ${reason}: ${message}${count && count > 1 ? ` (${count} times)` : ''}`;
