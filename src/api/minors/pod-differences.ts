/** What pods and templates of pods look like in earlier minors beyond the fields that there are. */
import { type FieldError, forbidden, notSupported } from '../errors/field-error.ts';
import type { Container, Pod, PodSpec, PodTemplateSpec } from '../generated/types.ts';
import type { ChosenMinor } from '../kind/chosen-minor.ts';
import { appArmorFromAnnotation, appArmorPrefix, isSameAppArmor } from '../rules/pod/app-armor.ts';
import type { ApiObject } from '../text/object.ts';

/** Kinds that have a template of pods. */
export const templated: readonly string[] = [
  'apps/daemonsets',
  'apps/deployments',
  'apps/replicasets',
  'apps/statefulsets',
  'batch/cronjobs',
  'batch/jobs',
  'core/podtemplates',
  'core/replicationcontrollers',
];

interface Templated {
  readonly template?: PodTemplateSpec;
  readonly spec?: PodSpec & {
    readonly template?: PodTemplateSpec;
    readonly jobTemplate?: { readonly spec?: { readonly template?: PodTemplateSpec } };
  };
}

/** The spec of a pod, or of the pods of a template, and its path. */
function podSpecOf(object: ApiObject | undefined): { readonly path: string; readonly spec: PodSpec } {
  const { spec = {}, template } = (object ?? {}) as Templated;
  if (spec.jobTemplate)
    return { path: 'spec.jobTemplate.spec.template.spec', spec: spec.jobTemplate.spec?.template?.spec ?? {} };
  if (spec.template) return { path: 'spec.template.spec', spec: spec.template.spec ?? {} };
  return template ? { path: 'template.spec', spec: template.spec ?? {} } : { path: 'spec', spec };
}

/** Ports of templates had a default before 1.28; those of pods have it still. */
export function defaultHostPorts(object: ApiObject): void {
  const { spec } = podSpecOf(object);
  if (!spec.hostNetwork) return;
  for (const { ports = [] } of [...(spec.containers ?? []), ...(spec.initContainers ?? [])])
    for (const port of ports) if (port.containerPort) port.hostPort ||= port.containerPort;
}

/** A volume with an image is dropped whole, with its mounts, while the gate of such volumes is off. */
export function dropImageVolumes(object: ApiObject, minor: ChosenMinor): void {
  const { spec } = podSpecOf(object);
  const { volumes = [] } = spec;
  if (minor.isOn('ImageVolume') || !volumes.some(({ image }) => image)) return;
  const dropped = new Set(volumes.filter(({ image }) => image).map(({ name }) => name));
  spec.volumes = volumes.filter(({ image }) => !image);
  for (const container of [
    ...(spec.containers ?? []),
    ...(spec.initContainers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ])
    if (container.volumeMounts)
      container.volumeMounts = container.volumeMounts.filter(({ name }) => !dropped.has(name));
}

/** Before 1.35, containers had no policy of their own for restarts, except init containers that run on. */
export function restartPolicyErrors(
  object: ApiObject,
  old: ApiObject | undefined,
  minor: ChosenMinor,
): FieldError[] {
  if (minor.isOn('ContainerRestartRules')) return [];
  const { path, spec } = podSpecOf(object);
  const before = podSpecOf(old).spec;
  const had = new Set([...(before.containers ?? []), ...(before.initContainers ?? [])].map(policyOf));
  const added = (containers: readonly Container[] = []) =>
    [...containers.entries()].filter(([, one]) => one.restartPolicy && !had.has(policyOf(one)));
  return [
    ...added(spec.initContainers)
      .filter(([, { restartPolicy }]) => restartPolicy !== 'Always')
      .map(([i, { restartPolicy }]) =>
        notSupported(`${path}.initContainers[${i}].restartPolicy`, restartPolicy!, ['Always']),
      ),
    ...added(spec.containers).map(([i]) =>
      forbidden(`${path}.containers[${i}].restartPolicy`, 'may not be set for non-init containers'),
    ),
  ];
}

const policyOf = ({ name, restartPolicy }: Container): string => `${name} ${restartPolicy}`;

/** Profiles of AppArmor that annotations name are in the fields, too, since 1.30. */
export function showAppArmorFields(object: ApiObject): void {
  const pod = object as Pod;
  const { annotations = {} } = pod.metadata;
  if (pod.spec?.os?.name === 'windows' || !Object.keys(annotations).some(isAppArmor)) return;
  const podProfile = pod.spec?.securityContext?.appArmorProfile;
  const shown = <T extends Container>(container: T): T => {
    const annotation = annotations[appArmorPrefix + container.name];
    const { securityContext } = container;
    if (annotation === undefined || securityContext?.appArmorProfile) return container;
    const profile = appArmorFromAnnotation(annotation);
    if (!profile || isSameAppArmor(profile, podProfile)) return container;
    return { ...container, securityContext: { ...securityContext, appArmorProfile: profile } };
  };
  pod.spec = changed(pod.spec, shown);
}

/** And from 1.30 to 1.33, annotations named the profiles of the fields. */
export function showAppArmorAnnotations(object: ApiObject): void {
  const { metadata, spec = {} } = object as Pod;
  if (spec.os?.name === 'windows') return;
  const added: Record<string, string> = {};
  for (const { name, securityContext } of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    const profile = securityContext?.appArmorProfile ?? spec.securityContext?.appArmorProfile;
    if (!profile || metadata.annotations?.[appArmorPrefix + name] !== undefined) continue;
    const { type, localhostProfile } = profile;
    added[appArmorPrefix + name] =
      type === 'Localhost'
        ? `localhost/${localhostProfile}`
        : type === 'Unconfined'
          ? 'unconfined'
          : 'runtime/default';
  }
  if (Object.keys(added).length)
    object.metadata = { ...metadata, annotations: { ...metadata.annotations, ...added } };
}

const isAppArmor = (name: string): boolean => name.startsWith(appArmorPrefix);

const changed = (spec: PodSpec = {}, change: <T extends Container>(container: T) => T): PodSpec => ({
  ...spec,
  ...(spec.containers ? { containers: spec.containers.map(change) } : {}),
  ...(spec.initContainers ? { initContainers: spec.initContainers.map(change) } : {}),
});
