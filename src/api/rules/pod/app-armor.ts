/** AppArmor profiles of containers: annotations of pods, as they were until Kubernetes 1.30, and the fields of today. */
import type { AppArmorProfile } from '../../generated/types.ts';

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
