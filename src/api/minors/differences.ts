/**
 * What objects of a kind look like in earlier minors beyond the fields that there are: defaults that came later, and
 * fields that were set later. Each is for one kind, and ends with a minor.
 */
import { type FieldError, notSupported } from '../errors/field-error.ts';
import type {
  JobV1,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Service,
} from '../generated/types.ts';
import type { ChosenMinor } from '../kind/chosen-minor.ts';
import type { Kind } from '../kind/kind.ts';
import type { ApiObject, JsonObject } from '../text/object.ts';
import { release } from '../values/release.ts';
import { expressionErrors } from './expressions.ts';
import {
  defaultHostPorts,
  dropImageVolumes,
  restartPolicyErrors,
  showAppArmorAnnotations,
  showAppArmorFields,
  templated,
} from './pod-differences.ts';

export interface Difference {
  /** Changes an object that a client gets. Members of the object may be replaced, but not changed. */
  show?(object: ApiObject): void;
  /** Changes an object that a client has sent, before its defaults. */
  settle?(object: ApiObject): void;
  /** Changes an object that a client has sent, after its defaults. */
  take?(object: ApiObject, old: ApiObject | undefined): void;
  /** What is wrong with an object in this minor, beyond what is wrong in all. */
  errors?(object: ApiObject, old: ApiObject | undefined): FieldError[];
}

interface Row {
  /** The first minor with the difference; undefined: all have it. */
  readonly since?: number;
  /** The first minor without the difference. */
  readonly until: number;
  settle?(object: ApiObject, minor: ChosenMinor): void;
  show?(object: ApiObject, minor: ChosenMinor): void;
  take?(object: ApiObject, old: ApiObject | undefined): void;
  errors?(object: ApiObject, old: ApiObject | undefined, minor: ChosenMinor): FieldError[];
}

/** In all minors that can be chosen. */
const always = 99;

/** Rows for pods and all kinds with templates of them. */
const ofPods: readonly Row[] = [
  { since: 31, until: 35, settle: dropImageVolumes },
  { since: 29, until: 35, errors: restartPolicyErrors },
];
const ofTemplates: readonly Row[] = [...ofPods, { until: 28, take: defaultHostPorts }];

const rows: Readonly<Record<string, readonly Row[]>> = {
  ...Object.fromEntries(templated.map((id) => [id, ofTemplates])),
  'core/pods': [
    ...ofPods,
    { since: 30, until: always, show: showAppArmorFields },
    { since: 30, until: 34, show: showAppArmorAnnotations },
    { until: 33, show: withoutGeneration },
    { until: 28, show: hideIndexLabels, take: keepIndexLabels },
  ],
  'core/services': [
    { since: 31, until: 34, errors: distributionErrors },
    { until: 29, show: hideExternalPolicy },
    { until: 24, take: defaultInternalPolicy, show: showInternalPolicy },
  ],
  'core/nodes': [{ until: always, show: showRelease }],
  'core/secrets': [{ until: 27, show: hideLastUse }],
  'core/persistentvolumes': [{ until: 27, errors: accessModeErrors }],
  'core/persistentvolumeclaims': [{ until: 27, errors: accessModeErrors }],
  'batch/jobs': [
    ...ofTemplates,
    { until: 29, show: hideManualSelector },
    { until: 27, take: useShortLabels },
  ],
  'apiextensions.k8s.io/customresourcedefinitions': [{ until: always, errors: newExpressions }],
  'admissionregistration.k8s.io/validatingadmissionpolicies': [{ until: always, errors: newExpressions }],
  'admissionregistration.k8s.io/mutatingadmissionpolicies': [{ until: always, errors: newExpressions }],
  'admissionregistration.k8s.io/validatingwebhookconfigurations': [{ until: always, errors: newExpressions }],
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': [{ until: always, errors: newExpressions }],
};

/** undefined: the kind has none in this minor. */
export function differenceOf({ id }: Kind, minor: ChosenMinor): Difference | undefined {
  const found = (Object.hasOwn(rows, id) ? rows[id]! : []).filter(
    ({ since = 0, until }) => minor.isAtLeast(since) && !minor.isAtLeast(until),
  );
  if (!found.length) return undefined;
  return {
    ...(found.some(({ settle }) => settle)
      ? {
          settle: (object) => {
            for (const { settle } of found) settle?.(object, minor);
          },
        }
      : {}),
    show: (object) => {
      for (const { show } of found) show?.(object, minor);
    },
    take: (object, old) => {
      for (const { take } of found) take?.(object, old);
    },
    ...(found.some(({ errors }) => errors)
      ? { errors: (object, old) => found.flatMap(({ errors }) => errors?.(object, old, minor) ?? []) }
      : {}),
  };
}

/** Pods have counted their changes since 1.33. */
function withoutGeneration(object: ApiObject): void {
  const { generation: _, ...metadata } = (object as Pod).metadata;
  object.metadata = metadata;
}

/** Labels with the index of a pod, which pods of stateful sets and indexed jobs have had since 1.28. */
const indexLabels: readonly string[] = [
  'apps.kubernetes.io/pod-index',
  'batch.kubernetes.io/job-completion-index',
];

function hideIndexLabels(object: ApiObject): void {
  const { labels = {} } = object.metadata;
  if (!indexLabels.some((name) => name in labels)) return;
  const others = Object.entries(labels).filter(([name]) => !indexLabels.includes(name));
  object.metadata = { ...object.metadata, labels: Object.fromEntries(others) };
}

/** Controllers look for them, in all minors. */
function keepIndexLabels(object: ApiObject, old: ApiObject | undefined): void {
  for (const name of indexLabels) {
    const value = old?.metadata.labels?.[name];
    if (value !== undefined) object.metadata.labels = { [name]: value, ...object.metadata.labels };
  }
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

/** Values that came in 1.34. */
function distributionErrors(object: ApiObject, old: ApiObject | undefined, minor: ChosenMinor): FieldError[] {
  const later = ['PreferSameZone', 'PreferSameNode'];
  const distribution = (object as Service).spec?.trafficDistribution ?? '';
  if (!later.includes(distribution) || minor.isOn('PreferSameTrafficDistribution')) return [];
  if ((old as Service | undefined)?.spec?.trafficDistribution === distribution) return [];
  return [notSupported('spec.trafficDistribution', distribution, ['PreferClose'])];
}

/** The default of 1.29. */
function hideManualSelector(object: ApiObject): void {
  const job = object as JobV1;
  const { manualSelector, ...spec } = job.spec ?? {};
  if (manualSelector === false) job.spec = spec;
}

/** Nodes of this release say that they are of the minor. */
function showRelease(object: ApiObject, minor: ChosenMinor): void {
  const node = object as Node;
  const { nodeInfo } = node.status ?? {};
  if (nodeInfo?.kubeletVersion === release)
    node.status = { ...node.status, nodeInfo: { ...nodeInfo, ...versionsIn(minor) } };
}

const versionsIn = (minor: ChosenMinor) => ({
  kubeletVersion: minor.release,
  // Nodes have not known the version of their proxy since 1.33.
  ...(minor.isOn('DisableNodeKubeProxyVersion') ? {} : { kubeProxyVersion: minor.release }),
});

/** The day on which a token was last used has been noted since 1.27. */
function hideLastUse(object: ApiObject): void {
  const { 'kubernetes.io/legacy-token-last-used': used, ...labels } = object.metadata.labels ?? {};
  if (used !== undefined) object.metadata = { ...object.metadata, labels };
}

/** The mode became ordinary in 1.27. */
function accessModeErrors(object: ApiObject, old: ApiObject | undefined): FieldError[] {
  const modes = (one: ApiObject | undefined): string[] =>
    (one as PersistentVolume | PersistentVolumeClaim | undefined)?.spec?.accessModes ?? [];
  const later = 'ReadWriteOncePod';
  if (!modes(object).includes(later) || modes(old).includes(later)) return [];
  return [notSupported('spec.accessModes', later, ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce'])];
}

const longPrefix = 'batch.kubernetes.io/';

/** Pods of a job have had labels with the name of the group since 1.27. */
function useShortLabels(object: ApiObject, old: ApiObject | undefined): void {
  const { spec } = object as JobV1;
  if (!spec || old) return;
  const { template, selector } = spec;
  const labels = template?.metadata?.labels;
  if (labels) for (const name of ['job-name', 'controller-uid']) delete labels[longPrefix + name];
  const { [`${longPrefix}controller-uid`]: uid, ...others } = selector?.matchLabels ?? {};
  if (selector && uid !== undefined) selector.matchLabels = { ...others, 'controller-uid': uid };
}

/** Expressions below the spec, or in webhooks. */
function newExpressions(object: ApiObject, old: ApiObject | undefined, minor: ChosenMinor): FieldError[] {
  return ['spec', 'webhooks'].flatMap((member) =>
    expressionErrors(
      (object as unknown as JsonObject)[member],
      (old as unknown as JsonObject | undefined)?.[member],
      member,
      minor.number,
    ),
  );
}
