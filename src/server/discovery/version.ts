/** What `/version` says. Clients compare major and minor with their own; nothing else depends on it. */
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
