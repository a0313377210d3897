/**
 * The endpoints controller: for every service with a selector, the addresses of the selected pods. Endpoints of
 * services without a selector are written by users.
 */
import type { Endpoints, Service } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { semanticEqual } from '../../api/text/object.ts';
import { formatTime } from '../../api/values/time.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Registry } from '../../registry/registry.ts';
import { collectionOf, targetOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { modify } from '../../registry/verbs/modify.ts';
import type { Entry } from '../../registry/view/entry.ts';
import {
  type Controller,
  fromKey,
  ifUnchanged,
  isNamespaceTerminating,
  keyOf,
  observe,
  type RunningController,
  running,
  type SharedContext,
} from '../shared/controller.ts';
import { recorderFor } from '../shared/event-sink.ts';
import { type IndexedPod, isFinished } from '../shared/indexed-pod.ts';
import { Selectors, serviceSelector } from '../shared/selectors.ts';
import { WorkQueue } from '../shared/work-queue.ts';
import { isHeadless, subsetsOf, truncated } from './endpoint-subsets.ts';
import { sameEndpoint } from './pod-endpoints.ts';

/** Addresses in one Endpoints object. */
const addressesMax = 1000;
/** For services with more pods than this, changes are batched: every change rewrites all their addresses. */
const manyPods = 100;
const gatherMs = 100;

const managedByLabel = 'endpoints.kubernetes.io/managed-by';
const headlessLabel = 'service.kubernetes.io/headless';
const triggerAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time';
const capacityAnnotation = 'endpoints.kubernetes.io/over-capacity';
const component = 'endpoint-controller';

export const endpointsController: Controller = {
  name: 'endpoints',
  writer: 'endpoint-controller',
  start: (context) => new EndpointsKeeper(context).start(),
};

/** The parts of Endpoints that this controller sets; all others are left as they are. */
interface Wanted {
  readonly subsets: Endpoints['subsets'];
  readonly labels: Record<string, string>;
  readonly cut: boolean;
}

class EndpointsKeeper {
  readonly #registry: Registry;
  readonly #recorder: EventRecorder;
  readonly #kind: Kind;
  readonly #queue: WorkQueue;
  readonly #selectors = new Selectors(serviceSelector);
  /** Time of the oldest change that is not yet written, by key of the service. */
  readonly #triggers = new Map<string, number>();
  /** Services that had many pods at the last pass, by key. */
  readonly #large = new Set<string>();

  constructor(private readonly context: SharedContext) {
    const { registry, onError } = context;
    this.#registry = registry;
    this.#recorder = recorderFor(context, component);
    this.#kind = registry.kinds.resource('v1', 'endpoints')!;
    this.#queue = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => this.#sync(key),
      onError: (_, error) => onError(error),
    });
  }

  start(): RunningController {
    const observations = [
      observe(this.context, 'core/services', (entry, previous) => this.#serviceChanged(entry, previous)),
      this.context.pods.observe((pod, previous) => this.#podChanged(pod, previous)),
      observe(this.context, 'core/endpoints', (entry, previous) => this.#endpointsChanged(entry, previous)),
    ];
    return running(observations, [this.#queue], this.#recorder);
  }

  #serviceChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    this.#selectors.observe(entry, previous);
    const { namespace, name } = (entry ?? previous)!;
    const key = keyOf(namespace, name);
    if (!entry) {
      this.#large.delete(key);
      this.#triggers.delete(key);
    } else if (previous) this.#trigger(key, this.#registry.sources.nowMs());
    else this.#trigger(key, Date.parse(entry.object().metadata.creationTimestamp ?? ''));
    this.#queue.add(key);
  }

  #podChanged(pod: IndexedPod | undefined, previous: IndexedPod | undefined): void {
    if (pod && previous && sameEndpoint(pod, previous)) return;
    const { namespace } = (pod ?? previous)!;
    const names = new Set([pod, previous].flatMap((one) => this.#selecting(one)));
    if (names.size === 0) return;
    const readied = pod?.readyChangedMs !== previous?.readyChangedMs ? pod?.readyChangedMs : undefined;
    for (const name of names) {
      const key = keyOf(namespace, name);
      this.#trigger(key, readied ?? this.#registry.sources.nowMs());
      if (this.#large.has(key)) this.#queue.addAfter(key, gatherMs);
      else this.#queue.add(key);
    }
  }

  /** A pod without an address has no effect on services. */
  #selecting(pod: IndexedPod | undefined): string[] {
    return pod?.ips.length && !isFinished(pod) ? this.#selectors.selecting(pod.namespace, pod.labels) : [];
  }

  /** Endpoints that a client deleted are created again; those of a deleted service are deleted. */
  #endpointsChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    const { namespace, name } = (entry ?? previous)!;
    if (!entry || (!previous && isOurs(entry) && !this.#service(namespace, name)))
      this.#queue.add(keyOf(namespace, name));
  }

  #trigger(key: string, ms: number): void {
    const before = this.#triggers.get(key);
    if (before === undefined || ms < before) this.#triggers.set(key, ms);
  }

  #service(namespace: string, name: string): Entry | undefined {
    return this.#registry.view.collection('core/services').get(namespace, name);
  }

  async #sync(key: string): Promise<void> {
    await this.#registry.view.caughtUp();
    const [namespace, name] = fromKey(key);
    const service = this.#service(namespace, name)?.object() as Service | undefined;
    const current = this.#registry.view.collection('core/endpoints').get(namespace, name);
    const triggerMs = this.#triggers.get(key);
    this.#triggers.delete(key);
    // Endpoints are deleted with their service; these are left from a server that stopped in between.
    if (!service) {
      if (current && isOurs(current))
        await ifUnchanged(
          remove(this.context.writing, this.context.request('delete'), targetOf(current), {}),
        );
      return;
    }
    const selector = serviceSelector(service);
    if (!selector || service.metadata.deletionTimestamp) return;
    const pods = this.context.pods.selected(namespace, selector);
    if (pods.length > manyPods) this.#large.add(key);
    else this.#large.delete(key);
    const wanted = wantedFor(service, pods);
    if (current && isRight(current.object() as Endpoints, wanted)) return;
    try {
      await this.#write(service, current, wanted, triggerMs ?? this.#registry.sources.nowMs());
    } catch (error) {
      if (isNamespaceTerminating(error)) return;
      if (triggerMs !== undefined) this.#trigger(key, triggerMs);
      this.#complain(service, current, error as Error);
      throw error;
    }
  }

  /**
   * Written without validation: pods that run as processes of this machine may have loopback addresses, which
   * Endpoints may not contain. The object itself is created with validation.
   */
  async #write(
    service: Service,
    current: Entry | undefined,
    wanted: Wanted,
    triggerMs: number,
  ): Promise<void> {
    const { namespace = '', name = '' } = service.metadata;
    const target = targetOf({ kind: this.#kind, namespace, name }, 'whole');
    const trigger = formatTime(triggerMs);
    if (!current) {
      const metadata = { name, labels: wanted.labels, annotations: { [triggerAnnotation]: trigger } };
      const made = await ifUnchanged(
        create(this.context.writing, this.context.request('create'), collectionOf(this.#kind, namespace), {
          metadata,
        }),
      );
      if (made && !wanted.subsets?.length) return;
    }
    await ifUnchanged(
      modify(this.context.writing, this.context.request('update'), target, (entry) => {
        const endpoints = entry.object() as Endpoints;
        const { [capacityAnnotation]: _, ...annotations } = endpoints.metadata.annotations ?? {};
        endpoints.metadata.labels = wanted.labels;
        endpoints.metadata.annotations = {
          ...annotations,
          [triggerAnnotation]: trigger,
          ...(wanted.cut ? { [capacityAnnotation]: 'truncated' } : {}),
        };
        endpoints.subsets = wanted.subsets;
        return endpoints;
      }),
    );
  }

  #complain(service: Service, current: Entry | undefined, { message }: Error): void {
    const place = `${service.metadata.namespace}/${service.metadata.name}`;
    if (current)
      this.#recorder.warning(
        current.object(),
        'FailedToUpdateEndpoint',
        `Failed to update endpoint ${place}: ${message}`,
      );
    else
      this.#recorder.warning(
        service,
        'FailedToCreateEndpoint',
        `Failed to create endpoint for service ${place}: ${message}`,
      );
  }
}

const isOurs = ({ labels }: Entry): boolean => labels?.[managedByLabel] === component;

function wantedFor(service: Service, pods: readonly IndexedPod[]): Wanted {
  const labels: Record<string, string> = { ...service.metadata.labels, [managedByLabel]: component };
  delete labels[headlessLabel];
  if (isHeadless(service)) labels[headlessLabel] = '';
  return { ...truncated(subsetsOf(service, pods), addressesMax), labels };
}

const isRight = ({ metadata, subsets }: Endpoints, wanted: Wanted): boolean =>
  semanticEqual(subsets, wanted.subsets) &&
  sameLabels(metadata.labels, wanted.labels) &&
  (metadata.annotations?.[capacityAnnotation] === 'truncated') === wanted.cut;

/** A label with an empty value differs from no label. */
function sameLabels(a: Record<string, string> = {}, b: Record<string, string>): boolean {
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key])
  );
}
