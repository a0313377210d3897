/**
 * The endpoint slice mirroring controller: Endpoints that were written by hand, for services without a selector, are
 * copied to slices, which is what service proxies and name servers read.
 */
import type { Endpoints, Service } from '../../api/generated/types.ts';
import { type Mirror, mirroredMax, mirrorOf } from '../../api/rules/service/mirrored-endpoints.ts';
import { managedByLabel, serviceNameLabel } from '../../api/rules/service/slice-endpoints.ts';
import { semanticEqual } from '../../api/text/object.ts';
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
import { WorkQueue } from '../shared/work-queue.ts';
import { planSlices } from './slice-plan.ts';
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

const managerName = 'endpointslicemirroring-controller.k8s.io';
const skipLabel = 'endpointslice.kubernetes.io/skip-mirror';
/** Marks Endpoints that older programs use for leader election, and rewrite every second or two. */
const leaderAnnotation = 'control-plane.alpha.kubernetes.io/leader';
const uncopiedAnnotations: readonly string[] = [
  'endpoints.kubernetes.io/last-change-trigger-time',
  'kubectl.kubernetes.io/last-applied-configuration',
];
const families = ['IPv4', 'IPv6'] as const;
const retry = { firstMs: 1_000, maxMs: 100_000 };
const triesMax = 15;

export const mirroringController: Controller = {
  name: 'endpointslicemirroring',
  writer: 'endpointslicemirroring-controller',
  start: (context) => new MirrorKeeper(context).start(),
};

class MirrorKeeper {
  readonly #recorder: EventRecorder;
  readonly #queue: WorkQueue;
  readonly #slices: ServiceSlices;

  constructor(private readonly context: SharedContext) {
    const { registry, onError } = context;
    this.#recorder = recorderFor(context, 'endpoint-slice-mirroring-controller');
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
    const add = (entry: Entry | undefined, previous: Entry | undefined): void => {
      const { namespace, name } = (entry ?? previous)!;
      this.#queue.add(keyOf(namespace, name));
    };
    const observations = [
      observe(this.context, 'core/endpoints', add),
      // Only whether there is a service, and whether it has a selector, matters.
      observe(this.context, 'core/services', (entry, previous) => {
        if (hasSelector(entry) !== hasSelector(previous)) add(entry, previous);
      }),
      observeSlices(this.context, managerName, (key) => this.#queue.add(key)),
    ];
    return running(observations, [this.#queue], this.#recorder);
  }

  async #sync(key: string): Promise<void> {
    const { view } = this.context.registry;
    await view.caughtUp();
    const [namespace, name] = fromKey(key);
    const existing = livingSlices(this.#slices, managerName, namespace, name);
    const service = view.collection('core/services').get(namespace, name);
    const endpoints = view.collection('core/endpoints').get(namespace, name)?.object() as
      | Endpoints
      | undefined;
    if (hasSelector(service) !== false || !endpoints || !isMirrored(endpoints))
      return removeSlices(this.context, existing);
    const mirror = mirrorOf(endpoints);
    this.#tell(endpoints, mirror);
    try {
      await this.#write(endpoints, mirror, existing);
    } catch (error) {
      if (!isNamespaceTerminating(error)) throw error;
    }
  }

  async #write(endpoints: Endpoints, mirror: Mirror, existing: readonly StoredSlice[]): Promise<void> {
    const { namespace = '' } = endpoints.metadata;
    const metadata = metadataFor(endpoints);
    const isOurs = (slice: StoredSlice): boolean => isOwnedBy(slice, metadata.owner);
    const isCurrent = (slice: StoredSlice): boolean =>
      sameLabels(slice, metadata.labels) &&
      semanticEqual(slice.metadata.annotations ?? {}, metadata.annotations);
    for (const family of families) {
      const slices = existing.filter((slice) => isOurs(slice) && slice.addressType === family);
      const plan = planSlices(slices, mirror.groups[family], mirroredMax, isCurrent);
      await writeSlices(this.context, namespace, family, plan, metadata);
    }
    await removeSlices(
      this.context,
      existing.filter((slice) => !isOurs(slice)),
    );
  }

  #tell(endpoints: Endpoints, { invalid, skipped }: Mirror): void {
    if (invalid)
      this.#recorder.warning(
        endpoints,
        'InvalidIPAddress',
        `Skipped ${invalid} invalid IP addresses when mirroring to EndpointSlices`,
      );
    if (skipped)
      this.#recorder.warning(
        endpoints,
        'TooManyAddressesToMirror',
        `A max of ${mirroredMax} addresses can be mirrored to EndpointSlices per Endpoints subset. ${skipped} addresses were skipped`,
      );
  }
}

/** Whether the service has a selector; undefined when there is no service. */
const hasSelector = (service: Entry | undefined): boolean | undefined => {
  const selector = service && (service.peek() as Service).spec?.selector;
  return service && selector !== undefined && Object.keys(selector).length > 0;
};

const isMirrored = ({ metadata: { labels, annotations } }: Endpoints): boolean =>
  labels?.[skipLabel] !== 'true' && annotations?.[leaderAnnotation] === undefined;

function metadataFor({ metadata }: Endpoints): SliceMetadata {
  const { name = '', labels = {}, annotations = {} } = metadata;
  const copied = Object.entries(annotations).filter(([key]) => !uncopiedAnnotations.includes(key));
  return {
    generateName: `${name}-`,
    owner: ownerOf('v1', 'Endpoints', metadata),
    annotations: Object.fromEntries(copied),
    labels: { ...labels, [serviceNameLabel]: name, [managedByLabel]: managerName },
  };
}
