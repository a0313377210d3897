/**
 * Server values of pods: what admission wrote into a pod, and a client that replaces the pod may leave out because it is
 * older than these fields. None of them may change, so they are taken from the stored pod.
 */
import type { Container, Pod, PodSpec, Volume } from '../../generated/types.ts';
import { cloneJson } from '../../text/object.ts';
import { hasSource } from './volume.ts';

/** Begins the name of the volume with the token of the pod's account. */
export const tokenVolumePrefix = 'kube-api-access-';
/** Where containers find the token of their account. */
export const tokenMountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Says on a pod what limit ranges added to it. */
export const limitRangerAnnotation = 'kubernetes.io/limit-ranger';

export function takePodServerValues(pod: Pod, old: Pod): void {
  const spec = (pod.spec ??= {});
  const before = old.spec ?? {};
  takePriority(spec, before);
  if (!spec.serviceAccountName && !spec.serviceAccount) spec.serviceAccountName = before.serviceAccountName;
  if (!spec.imagePullSecrets && before.imagePullSecrets)
    spec.imagePullSecrets = cloneJson(before.imagePullSecrets) as PodSpec['imagePullSecrets'];
  takeTokenVolume(spec, before);
  if (old.metadata.annotations?.[limitRangerAnnotation]) takeResources(spec, before);
}

/** The class may have been the default one. A client that sends a priority knows of classes, and left its out. */
function takePriority(spec: PodSpec, before: PodSpec): void {
  if (spec.priority === undefined) spec.priorityClassName ??= before.priorityClassName;
  spec.priority ??= before.priority;
  spec.preemptionPolicy ??= before.preemptionPolicy;
}

/**
 * Clients of Kubernetes 1.1 know no projected volumes: they send this one back by name alone, or as an empty directory,
 * which is what they take a volume without a source for.
 */
function takeTokenVolume(spec: PodSpec, before: PodSpec): void {
  const at = before.volumes?.findIndex(isTokenVolume) ?? -1;
  if (at < 0) return;
  const stored = before.volumes![at]!;
  const volumes = (spec.volumes ??= []);
  const sent = volumes.findIndex(({ name }) => name === stored.name);
  if (sent < 0) volumes.splice(at, 0, cloneJson(stored) as Volume);
  else if (isBare(volumes[sent]!)) volumes[sent] = cloneJson(stored) as Volume;
  for (const list of ['containers', 'initContainers'] as const)
    for (const container of spec[list] ?? []) takeTokenMount(container, before[list], stored.name);
}

const isTokenVolume = ({ name, projected }: Volume): boolean =>
  projected !== undefined && (name?.startsWith(tokenVolumePrefix) ?? false);

const isBare = (volume: Volume): boolean =>
  !hasSource(volume) || (volume.emptyDir !== undefined && Object.keys(volume.emptyDir).length === 0);

function takeTokenMount(
  container: Container,
  stored: readonly Container[] | undefined,
  volume: string | undefined,
): void {
  const before = stored?.find(({ name }) => name === container.name)?.volumeMounts ?? [];
  const at = before.findIndex(({ name }) => name === volume);
  if (at < 0 || container.volumeMounts?.some(({ name }) => name === volume)) return;
  (container.volumeMounts ??= []).splice(at, 0, { ...before[at] });
}

/** Limit ranges add single amounts to what the author of a pod gave. */
function takeResources(spec: PodSpec, before: PodSpec): void {
  for (const list of ['containers', 'initContainers'] as const)
    for (const container of spec[list] ?? []) {
      const stored = before[list]?.find(({ name }) => name === container.name)?.resources;
      for (const amounts of ['limits', 'requests'] as const)
        if (stored?.[amounts])
          container.resources = {
            ...container.resources,
            [amounts]: { ...stored[amounts], ...container.resources?.[amounts] },
          };
    }
}
