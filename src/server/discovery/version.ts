/** What `/version` says. Clients compare major and minor with their own; nothing else depends on it. */
export const versionInfo = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.0+wherry',
  gitCommit: '0000000000000000000000000000000000000000',
  gitTreeState: 'clean',
  buildDate: '2026-11-15T00:00:00Z',
  goVersion: 'none',
  compiler: 'none',
  platform: `${process.platform}/${process.arch}`,
};
