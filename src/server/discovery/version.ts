/** The answer of `/version`. Clients compare major and minor with their own; other fields are informational. */
import { release } from '../../api/release.ts';

export const versionInfo = {
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
