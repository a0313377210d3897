/**
 * Proves that the code for Windows runs a pod and ends the tree of its processes, with programs that stand in for those of
 * Windows; in a folder with spaces, from a manifest with Windows' ends of lines, in another time zone and language.
 * platforms.release.test.ts has the other systems and machines.
 */
import { expect, it } from 'vitest';
import { stayOf } from '../support/guest.ts';
import { windowsPrograms } from '../support/windows-programs.ts';

it('is Windows, with trees of processes in the place of signals', async () => {
  const { printed, nodeInfo, log, startTime } = await stayOf({
    env: { WHERRY_AS_PLATFORM: 'win32', TZ: 'Asia/Kathmandu', LC_ALL: 'tr_TR.UTF-8', LANG: 'tr_TR.UTF-8' },
    programs: windowsPrograms,
  });
  expect(nodeInfo).toMatchObject({ operatingSystem: 'windows' });
  expect(printed).toContain('pod network host: pods share the network of this machine (only Linux has');
  expect(log).toBe('grüß 你好\n');
  expect(startTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  expect(Math.abs(Date.parse(startTime) - Date.now())).toBeLessThan(3_600_000);
});
