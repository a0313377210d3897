/** The answer of `/version`. Clients compare major and minor with their own; other fields are informational. */
import { release } from '../../api/values/release.ts';

/** What an operator may have it say. */
export interface ReportedVersion {
  /** In the place of Wherry's own version, such as `v1.36.4-test`. */
  readonly gitVersion?: string;
  /** The version that is emulated, such as `1.35`. Default: the answer has no such version. */
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
  platform: `${process.platform}/${process.arch}`,
};

export function versionInfo({
  gitVersion = release,
  emulatedVersion,
}: ReportedVersion = {}): Record<string, string> {
  const { major, minor, ...rest } = usual;
  if (emulatedVersion === undefined) return { ...usual, gitVersion };
  const [emulationMajor = '', emulationMinor = ''] = emulatedVersion.split('.');
  return {
    major,
    minor,
    emulationMajor,
    emulationMinor,
    minCompatibilityMajor: emulationMajor,
    minCompatibilityMinor: String(Number(emulationMinor) - 1),
    ...rest,
    gitVersion,
  };
}
