/**
 * The pod index: all pods by controller, by labels and by node, shared by the controllers.
 *
 * It is never behind the view: every query first applies the changes that came since the query before. A write
 * is answered when the view shows it, so a controller that has created pods finds them in its next query. That is why
 * controllers here need no expectations, as Kubernetes' controllers do. For writes of other servers they wait with
 * `view.caughtUp()` before a query.
 */
import type { LabelSelector } from '../../api/kind/label-selector.ts';
import type { Collection } from '../../registry/view/collection.ts';
import { everything } from '../../registry/view/filter.ts';
import { type ControllerContext, keyOf, type Observation, observe } from './controller.ts';
import { type IndexedPod, indexedPod } from './indexed-pod.ts';
import { askedLabel, placeOf } from './selectors.ts';

/** A change of a pod: its new state, undefined when it was deleted, and the state before. */
export type PodObserver = (pod: IndexedPod | undefined, previous: IndexedPod | undefined) => void;

/** Pods by a key. */
class Groups {
  readonly #groups = new Map<string, Set<IndexedPod>>();

  add(name: string, pod: IndexedPod): void {
    const group = this.#groups.get(name);
    if (group) group.add(pod);
    else this.#groups.set(name, new Set([pod]));
  }

  delete(name: string, pod: IndexedPod): void {
    const group = this.#groups.get(name);
    group?.delete(pod);
    if (group?.size === 0) this.#groups.delete(name);
  }

  of(name: string): IndexedPod[] {
    return [...(this.#groups.get(name) ?? [])];
  }
}

export class PodIndex {
  readonly #collection: Collection;
  readonly #onError: (error: Error) => void;
  readonly #pods = new Map<string, IndexedPod>();
  readonly #byController = new Groups();
  readonly #uncontrolled = new Groups();
  readonly #byNamespace = new Groups();
  readonly #byLabel = new Groups();
  readonly #byNode = new Groups();
  readonly #observers = new Set<PodObserver>();
  readonly #bell: Observation;
  /** Number of the next change to apply. */
  #position = Number.NEGATIVE_INFINITY;
  #catchingUp = false;

  constructor(context: ControllerContext) {
    this.#collection = context.registry.view.collection('core/pods');
    this.#onError = context.onError;
    // The notification only says that there are changes; they are read from the window.
    this.#bell = observe(context, 'core/pods', () => this.#catchUp());
    this.#catchUp();
  }

  /** Pods that an object of their namespace controls. */
  controlledBy(namespace: string, uid: string): IndexedPod[] {
    this.#catchUp();
    return this.#byController.of(keyOf(namespace, uid));
  }

  /** Pods without a controller. */
  uncontrolled(namespace: string): IndexedPod[] {
    this.#catchUp();
    return this.#uncontrolled.of(namespace);
  }

  /** Pods of a namespace that a selector selects. */
  selected(namespace: string, selector: LabelSelector): IndexedPod[] {
    this.#catchUp();
    const asked = askedLabel(selector);
    const some = asked ? this.#byLabel.of(keyOf(namespace, asked)) : this.#byNamespace.of(namespace);
    return some.filter(({ labels }) => selector.matches(labels));
  }

  /** Pods bound to a node; those without one for ''. */
  onNode(name: string): IndexedPod[] {
    this.#catchUp();
    return this.#byNode.of(name);
  }

  get(namespace: string, name: string): IndexedPod | undefined {
    this.#catchUp();
    return this.#pods.get(keyOf(namespace, name));
  }

  /** Calls the observer for every existing pod, and for every change from then on. */
  observe(observer: PodObserver): Observation {
    this.#catchUp();
    for (const pod of this.#pods.values()) this.#tell(observer, pod, undefined);
    this.#observers.add(observer);
    const index = this;
    return {
      get caughtUp() {
        return index.#position >= index.#collection.endNumber;
      },
      close: () => {
        this.#observers.delete(observer);
      },
    };
  }

  close(): void {
    this.#bell.close();
  }

  #catchUp(): void {
    // Queries of an observer see the changes applied so far.
    if (this.#catchingUp || this.#position >= this.#collection.endNumber) return;
    this.#catchingUp = true;
    try {
      if (this.#position < this.#collection.startNumber) this.#takeAll();
      while (this.#position < this.#collection.endNumber) {
        const { namespace, name, entry } = this.#collection.event(this.#position++)!;
        this.#take(keyOf(namespace, name), entry && indexedPod(entry));
      }
    } catch (error) {
      this.#onError(error as Error);
    } finally {
      this.#catchingUp = false;
    }
  }

  /** Reads all pods: at the start, and when history has moved past this index. */
  #takeAll(): void {
    const { entries } = this.#collection.select(everything);
    this.#position = this.#collection.endNumber;
    const gone = new Set(this.#pods.keys());
    for (const entry of entries) {
      const key = keyOf(entry.namespace, entry.name);
      gone.delete(key);
      if (this.#pods.get(key)?.entry !== entry) this.#take(key, indexedPod(entry));
    }
    for (const key of gone) this.#take(key, undefined);
  }

  #take(key: string, pod: IndexedPod | undefined): void {
    const previous = this.#pods.get(key);
    if (previous) this.#file('delete', previous);
    if (pod) {
      this.#pods.set(key, pod);
      this.#file('add', pod);
    } else this.#pods.delete(key);
    for (const observer of this.#observers) this.#tell(observer, pod, previous);
  }

  #file(how: 'add' | 'delete', pod: IndexedPod): void {
    if (pod.controller?.uid) this.#byController[how](keyOf(pod.namespace, pod.controller.uid), pod);
    else this.#uncontrolled[how](pod.namespace, pod);
    this.#byNamespace[how](pod.namespace, pod);
    for (const [key, value] of Object.entries(pod.labels ?? {}))
      this.#byLabel[how](keyOf(pod.namespace, placeOf(key, value)), pod);
    this.#byNode[how](pod.nodeName, pod);
  }

  #tell(observer: PodObserver, pod: IndexedPod | undefined, previous: IndexedPod | undefined): void {
    try {
      observer(pod, previous);
    } catch (error) {
      this.#onError(error as Error);
    }
  }
}
