/**
 * `--emulated-version`: which earlier version of Kubernetes the server acts as, and what of the API came after that
 * version. Fields of kinds that were there already are kept as they are.
 */
import type { RuntimeConfig } from '../api/kinds/runtime-config.ts';
import { kubernetesVersion } from './apiserver-help.ts';
import { type FlagValues, listOf } from './flag.ts';
import { runtimeConfigOf } from './runtime-config-flag.ts';

/** A server emulates up to this many minor versions before its own. */
const emulatedMax = 3;

const [ownMajor, ownMinor] = kubernetesVersion.slice(1).split('.').map(Number) as [number, number];
const first = ownMinor - emulatedMax;

/** Versions and resources by the minor version that brought them, in the form of `--runtime-config`. */
const introduced: readonly (readonly [number, string])[] = [
  [34, 'resource.k8s.io/v1'],
  [34, 'storage.k8s.io/v1/volumeattributesclasses'],
  [36, 'admissionregistration.k8s.io/v1/mutatingadmissionpolicies'],
  [36, 'admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings'],
];

/** `kube=1.35`, or the version alone; undefined: the flag was not given. */
export const emulatedVersion = (values: FlagValues): string | undefined =>
  listOf(values, 'emulated-version')
    .at(-1)
    ?.replace(/^(kube=)?v?/, '');

/** Why a version cannot be emulated, in kube-apiserver's words. */
export function emulationProblems(values: FlagValues): string[] {
  const asked = emulatedVersion(values);
  if (asked === undefined) return [];
  const [, major, minor] = /^(\d+)\.(\d+)$/.exec(asked) ?? [];
  if (major === undefined) return [`illegal version string ${JSON.stringify(asked)}`];
  if (Number(major) === ownMajor && Number(minor) >= first && Number(minor) <= ownMinor) return [];
  return [`emulation version ${asked} is not between [${ownMajor}.${first}, ${kubernetesVersion.slice(1)}]`];
}

/** What is switched on and off by `--runtime-config`, without what the emulated version does not have. */
export function servedConfigOf(values: FlagValues): RuntimeConfig {
  const emulated = Number(emulatedVersion(values)?.split('.')[1] ?? ownMinor);
  const later = introduced.filter(([minor]) => minor > emulated).map(([, name]) => name);
  return { ...runtimeConfigOf(values), ...Object.fromEntries(later.map((name) => [name, false])) };
}
