/**
 * The endpoint slice controller: for every service with a selector, slices with the addresses of the selected pods.
 * Pods that are being deleted stay in their slices, marked as terminating, until they are gone.
 */
import type { Service } from '../../api/generated/types.ts';
import {
  type AddressFamily,
  managedByLabel,
  serviceNameLabel,
} from '../../api/rules/service/slice-endpoints.ts';
import { formatTime } from '../../api/values/time.ts';
import type { EventRecorder } from '../../client/events.ts';
import { ServiceSlices } from '../../registry/system/service-slices.ts';
import type { Entry } from '../../registry/view/entry.ts';
import {
  type Controller,
  fromKey,
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
import { isHeadless } from './endpoint-subsets.ts';
import { endpointGroups, type KnownNode, sameEndpoint } from './pod-endpoints.ts';
import { planPlaceholder, planSlices } from './slice-plan.ts';
import {
  isOwnedBy,
  livingSlices,
  observeSlices,
  ownerOf,
  removeSlices,
  type SliceMetadata,
  type StoredSlice,
  sameLabels,
  writeSlices,
} from './slice-writer.ts';
import { TriggerTimes } from './trigger-times.ts';

/** Endpoints in one slice. */
const endpointsMax = 100;
/** For services with more pods than this, changes are batched. */
const manyPods = 100;
const gatherMs = 100;
/** Failures are retried after this time, doubled each time. */
const retry = { firstMs: 1_000, maxMs: 1_000_000 };
const triesMax = 15;

const managerName = 'endpointslice-controller.k8s.io';
const headlessLabel = 'service.kubernetes.io/headless';
const zoneLabel = 'topology.kubernetes.io/zone';
const triggerAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time';
const reservedLabels: readonly string[] = [serviceNameLabel, managedByLabel, headlessLabel];

export const endpointSliceController: Controller = {
  name: 'endpointslice',
  writer: 'endpointslice-controller',
  start: (context) => new SliceKeeper(context).start(),
};

const zoneOf = (node: Entry): string | undefined => node.labels?.[zoneLabel] || undefined;

class SliceKeeper {
  readonly #recorder: EventRecorder;
  readonly #queue: WorkQueue;
  readonly #slices: ServiceSlices;
  readonly #selectors = new Selectors(serviceSelector);
  readonly #triggers = new TriggerTimes();
  /** Services that had many pods at the last pass, by key. */
  readonly #large = new Set<string>();

  constructor(private readonly context: SharedContext) {
    const { registry, onError } = context;
    this.#recorder = recorderFor(context, 'endpoint-slice-controller');
    this.#slices = new ServiceSlices(registry.view);
    this.#queue = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => this.#sync(key),
      onError: (_, error) => onError(error),
      retry,
      triesMax,
    });
  }

  start(): RunningController {
    const observations = [
      observe(this.context, 'core/services', (entry, previous) => this.#serviceChanged(entry, previous)),
      this.context.pods.observe((pod, previous) => this.#podChanged(pod, previous)),
      observe(this.context, 'core/nodes', (entry, previous) => this.#nodeChanged(entry, previous)),
      observeSlices(this.context, managerName, (key) => this.#later(key)),
    ];
    return running(observations, [this.#queue], this.#recorder);
  }

  #serviceChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    this.#selectors.observe(entry, previous);
    const { namespace, name } = (entry ?? previous)!;
    const key = keyOf(namespace, name);
    if (entry) return this.#queue.add(key);
    // The garbage collector deletes its slices.
    this.#large.delete(key);
    this.#triggers.forget(key);
  }

  #podChanged(pod: IndexedPod | undefined, previous: IndexedPod | undefined): void {
    if (pod && previous && sameEndpoint(pod, previous)) return;
    this.#selectingChanged([pod, previous]);
  }

  /** Called when a node was added, deleted or moved to another zone. */
  #nodeChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    if (entry && previous && zoneOf(entry) === zoneOf(previous)) return;
    this.#selectingChanged(this.context.pods.onNode((entry ?? previous)!.name));
  }

  #selectingChanged(pods: readonly (IndexedPod | undefined)[]): void {
    const keys = pods.flatMap((pod) =>
      pod?.ips.length && !isFinished(pod)
        ? this.#selectors.selecting(pod.namespace, pod.labels).map((name) => keyOf(pod.namespace, name))
        : [],
    );
    for (const key of new Set(keys)) this.#later(key);
  }

  #later(key: string): void {
    if (this.#large.has(key)) this.#queue.addAfter(key, gatherMs);
    else this.#queue.add(key);
  }

  async #sync(key: string): Promise<void> {
    const { registry, pods } = this.context;
    await registry.view.caughtUp();
    const [namespace, name] = fromKey(key);
    const entry = registry.view.collection('core/services').get(namespace, name);
    const service = entry?.object() as Service | undefined;
    const selector = service && serviceSelector(service);
    if (!selector || service.metadata.deletionTimestamp) return;
    const selected = pods.selected(namespace, selector);
    if (selected.length > manyPods) this.#large.add(key);
    else this.#large.delete(key);
    const createdMs = Date.parse(service.metadata.creationTimestamp ?? '');
    const triggerMs = this.#triggers.since(key, createdMs, selected);
    try {
      await this.#write(service, selected, triggerMs);
    } catch (error) {
      this.#triggers.forget(key);
      if (isNamespaceTerminating(error)) return;
      this.#recorder.warning(
        service,
        'FailedToUpdateEndpointSlices',
        `Error updating Endpoint Slices for Service ${namespace}/${name}: ${(error as Error).message}`,
      );
      throw error;
    }
  }

  async #write(service: Service, pods: readonly IndexedPod[], triggerMs: number | undefined): Promise<void> {
    const { namespace = '', name = '' } = service.metadata;
    const metadata = metadataFor(service, triggerMs);
    const existing = livingSlices(this.#slices, managerName, namespace, name);
    const families = (service.spec?.ipFamilies ?? ['IPv4']) as AddressFamily[];
    // Slices left by a deleted service of this name, or of an address family that the service no longer has.
    const isOurs = (slice: StoredSlice): boolean =>
      isOwnedBy(slice, metadata.owner) && families.includes(slice.addressType as AddressFamily);
    const isCurrent = (slice: StoredSlice): boolean => sameLabels(slice, metadata.labels);
    for (const family of families) {
      const slices = existing.filter((slice) => isOurs(slice) && slice.addressType === family);
      const groups = endpointGroups(service, pods, family, (node) => this.#node(node));
      const plan = groups.length
        ? planSlices(slices, groups, endpointsMax, isCurrent)
        : planPlaceholder(slices, isCurrent);
      await writeSlices(this.context, namespace, family, plan, metadata);
    }
    await removeSlices(
      this.context,
      existing.filter((slice) => !isOurs(slice)),
    );
  }

  #node(name: string): KnownNode | undefined {
    const node = this.context.registry.view.collection('core/nodes').get('', name);
    return node && { zone: zoneOf(node) };
  }
}

function metadataFor(service: Service, triggerMs: number | undefined): SliceMetadata {
  const { name = '', labels = {} } = service.metadata;
  const own = Object.entries(labels).filter(([key]) => !reservedLabels.includes(key));
  return {
    generateName: `${name}-`,
    owner: ownerOf('v1', 'Service', service.metadata),
    annotations: triggerMs === undefined ? {} : { [triggerAnnotation]: formatTime(triggerMs) },
    labels: {
      ...Object.fromEntries(own),
      [serviceNameLabel]: name,
      [managedByLabel]: managerName,
      ...(isHeadless(service) ? { [headlessLabel]: '' } : {}),
    },
  };
}
