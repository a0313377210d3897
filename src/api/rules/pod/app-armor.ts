/** AppArmor profiles of containers: annotations of pods, as they were until Kubernetes 1.30, and the fields of today. */
import type { AppArmorProfile, Container, Pod } from '../../generated/types.ts';

/** Begins the name of an annotation; the container's name follows. */
export const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/';

const local = 'localhost/';

/** The field that says the same; undefined for a value that no field can have. */
export function appArmorFromAnnotation(value: string): AppArmorProfile | undefined {
  if (value === 'unconfined') return { type: 'Unconfined' };
  if (value === 'runtime/default') return { type: 'RuntimeDefault' };
  if (!value.startsWith(local) || value === local) return undefined;
  return { type: 'Localhost', localhostProfile: value.slice(local.length) };
}

export const isSameAppArmor = (one: AppArmorProfile, other: AppArmorProfile | undefined): boolean =>
  one.type === other?.type && one.localhostProfile === other?.localhostProfile;

/** Security contexts whose profile came from an annotation. */
const taken = new WeakSet<object>();

export const isFromAnnotation = (securityContext: object | undefined): boolean =>
  securityContext !== undefined && taken.has(securityContext);

/** Sets the fields of a new pod from its annotations, where they are not set. */
export function takeAppArmorAnnotations({ metadata, spec = {} }: Pod): void {
  const { annotations } = metadata;
  if (!annotations || spec.os?.name === 'windows') return;
  const take = (container: Container): void => {
    const annotation = annotations[appArmorPrefix + container.name];
    if (annotation === undefined || container.securityContext?.appArmorProfile) return;
    const profile = appArmorFromAnnotation(annotation);
    if (!profile || isSameAppArmor(profile, spec.securityContext?.appArmorProfile)) return;
    container.securityContext = { ...container.securityContext, appArmorProfile: profile };
    taken.add(container.securityContext);
  };
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) take(container);
}
