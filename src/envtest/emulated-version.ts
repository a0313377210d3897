/** `--emulated-version`: which earlier version of Kubernetes the server acts as. */
import { kubernetesVersion } from './apiserver-help.ts';
import { type FlagValues, listOf } from './flag.ts';

/** A server emulates up to this many minor versions before its own. */
const emulatedMax = 3;

const [ownMajor, ownMinor] = kubernetesVersion.slice(1).split('.').map(Number) as [number, number];
const first = ownMinor - emulatedMax;

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
