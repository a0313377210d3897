/**
 * What objects of a kind look like in earlier minors beyond the fields that there are: defaults that came later, and
 * fields that were set later. Each is for one kind, and ends with a minor.
 */
import type { JobV1, Pod, Service } from '../generated/types.ts';
import type { ChosenMinor } from '../kind/chosen-minor.ts';
import type { Kind } from '../kind/kind.ts';
import type { ApiObject } from '../text/object.ts';

export interface Difference {
  /** Changes an object that a client gets. Members of the object may be replaced, but not changed. */
  show?(object: ApiObject): void;
  /** Changes an object that a client has sent, after its defaults. */
  take?(object: ApiObject, old: ApiObject | undefined): void;
}

interface Row extends Difference {
  /** The first minor without the difference. */
  readonly until: number;
}

const rows: Readonly<Record<string, readonly Row[]>> = {
  'core/pods': [{ until: 33, show: withoutGeneration }],
  'core/services': [
    { until: 29, show: hideExternalPolicy },
    { until: 24, take: defaultInternalPolicy, show: showInternalPolicy },
  ],
  'batch/jobs': [{ until: 29, show: hideManualSelector }],
};

/** undefined: the kind has none in this minor. */
export function differenceOf({ id }: Kind, minor: ChosenMinor): Difference | undefined {
  const found = (Object.hasOwn(rows, id) ? rows[id]! : []).filter(({ until }) => !minor.isAtLeast(until));
  if (!found.length) return undefined;
  return {
    show: (object) => {
      for (const { show } of found) show?.(object);
    },
    take: (object, old) => {
      for (const { take } of found) take?.(object, old);
    },
  };
}

/** Pods have counted their changes since 1.33. */
function withoutGeneration(object: ApiObject): void {
  const { generation: _, ...metadata } = (object as Pod).metadata;
  object.metadata = metadata;
}

/** Services with external addresses alone have had the policy since 1.29. */
function hideExternalPolicy(object: ApiObject): void {
  const service = object as Service;
  const { externalTrafficPolicy: _, ...spec } = service.spec ?? {};
  if (service.spec?.type === 'ClusterIP') service.spec = spec;
}

/** Services that are another name had the policy, too, before 1.24. */
function defaultInternalPolicy(object: ApiObject): void {
  const { spec } = object as Service;
  if (spec?.type === 'ExternalName') spec.internalTrafficPolicy ??= 'Cluster';
}

function showInternalPolicy(object: ApiObject): void {
  const service = object as Service;
  if (service.spec?.type === 'ExternalName')
    service.spec = { internalTrafficPolicy: 'Cluster', ...service.spec };
}

/** The default of 1.29. */
function hideManualSelector(object: ApiObject): void {
  const job = object as JobV1;
  const { manualSelector, ...spec } = job.spec ?? {};
  if (manualSelector === false) job.spec = spec;
}
