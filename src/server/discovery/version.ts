/** The answer of `/version`. Clients compare major and minor with their own; other fields are informational. */

import type { ChosenMinor } from '../../api/kind/chosen-minor.ts';
import { release } from '../../api/values/release.ts';
import { platform } from '../../platform.ts';

/** Values that an operator may set in place of the real ones. */
export interface ReportedVersion {
  /** Replaces Wherry's own version; such as `v1.36.4-test`. */
  readonly gitVersion?: string;
  /** The version that is reported as emulated, such as `1.35`. Default: none is reported. */
  readonly emulatedVersion?: string;
}

const usual = {
  major: '1',
  minor: '36',
  gitVersion: release,
  gitCommit: '0000000000000000000000000000000000000000',
  gitTreeState: 'clean',
  buildDate: '2026-11-15T00:00:00Z',
  goVersion: 'none',
  compiler: 'none',
  platform: `${platform.name}/${process.arch}`,
};

/** Servers have told what they emulate since this minor. */
const firstToEmulate = 33;

export function versionInfo(
  { gitVersion, emulatedVersion }: ReportedVersion = {},
  chosen?: ChosenMinor,
): Record<string, string> {
  // A server that emulates a minor says which minor it is itself.
  if (chosen && emulatedVersion === undefined)
    return described(
      { ...usual, minor: String(chosen.number), gitVersion: gitVersion ?? chosen.release },
      chosen.number < firstToEmulate ? undefined : `1.${chosen.number}`,
    );
  return described({ ...usual, gitVersion: gitVersion ?? release }, emulatedVersion);
}

function described(info: typeof usual, emulatedVersion: string | undefined): Record<string, string> {
  if (emulatedVersion === undefined) return info;
  const { major, minor, ...rest } = info;
  const [emulationMajor = '', emulationMinor = ''] = emulatedVersion.split('.');
  return {
    major,
    minor,
    emulationMajor,
    emulationMinor,
    minCompatibilityMajor: emulationMajor,
    minCompatibilityMinor: String(Number(emulationMinor) - 1),
    ...rest,
  };
}
