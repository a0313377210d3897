/** Proves that a cluster runs pods with the code of macOS, without root, without /proc, and in other zones and languages. */
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { type Guest, stayOf } from '../support/guest.ts';
import { windowsPrograms } from '../support/windows-programs.ts';

const isRoot = process.getuid?.() === 0;

/** Whether another view of the file system can be made, in which /proc is empty. */
const canHideProc = ((): boolean => {
  try {
    execFileSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/proc'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();
const hidingProc = ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs none /proc && exec "$0" "$@"'];

const anybody: Guest[] = [
  { env: { WHERRY_AS_PLATFORM: 'darwin' } },
  { env: { WHERRY_AS_PLATFORM: 'win32' }, programs: windowsPrograms },
  ...['Pacific/Kiritimati', 'America/St_Johns', 'Europe/Lisbon'].map((TZ) => ({ env: { TZ } })),
  ...['C', 'POSIX', 'tr_TR.UTF-8', 'ja_JP.EUC-JP'].map((LC_ALL) => ({ env: { LC_ALL, LANG: LC_ALL } })),
];

describe('a cluster runs pods and ends them', () => {
  it.each(anybody.map((guest) => [JSON.stringify(guest.env), guest] as const))(
    'with %s',
    async (_, guest) => {
      const { log, nodeInfo } = await stayOf(guest);
      expect(log).toBe('grüß 你好\n');
      const systems: Record<string, string> = { win32: 'windows', darwin: 'darwin' };
      expect(nodeInfo.operatingSystem).toBe(systems[guest.env?.WHERRY_AS_PLATFORM ?? ''] ?? 'linux');
    },
  );

  // Another user can be chosen by root alone.
  it.skipIf(!isRoot)('without root', async () => {
    const { printed, log } = await stayOf({ uid: 65_534 });
    expect(printed).toContain('(it takes the rights of root)');
    expect(log).toBe('grüß 你好\n');
  });

  it.skipIf(!canHideProc)('without /proc', async () => {
    const { printed, log } = await stayOf({ before: hidingProc });
    expect(printed).toContain('pod network host: ');
    expect(log).toBe('grüß 你好\n');
  });

  it.skipIf(!canHideProc)('without /proc and as on macOS', async () => {
    const { log } = await stayOf({ before: hidingProc, env: { WHERRY_AS_PLATFORM: 'darwin' } });
    expect(log).toBe('grüß 你好\n');
  });
});
