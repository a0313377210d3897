/**
 * Which system this is: the only file of `src` that asks. What needs Linux, or differs on Windows, reads it here and has
 * an answer for the others. Tests run the code of another system by `WHERRY_AS_PLATFORM`; what Node itself does stays.
 */
import { homedir, userInfo } from 'node:os';
import path from 'node:path';

const name = (process.env['WHERRY_AS_PLATFORM'] ?? process.platform) as NodeJS.Platform;

export const platform = {
  name,
  /** It has /proc, control groups, namespaces, nft, and all of 127.0.0.0/8. */
  isLinux: name === 'linux',
  /** It lacks signals, process groups, named pipes in folders and a shell at /bin/sh. */
  isWindows: name === 'win32',
  /** The rights of root on Linux, which its network and namespaces take. */
  get isLinuxRoot(): boolean {
    return this.isLinux && process.getuid?.() === 0;
  },
} as const;

/**
 * The home folder of the user, as an absolute path; undefined if the system does not know one. Node takes an empty `HOME`
 * for a folder, and throws where a user has neither `HOME` nor an entry among the system's users, as in some containers.
 */
export function homeFolder(): string | undefined {
  for (const home of [homedir, () => userInfo().homedir])
    try {
      if (path.isAbsolute(home())) return home();
    } catch {
      // The next may know.
    }
  return undefined;
}

/** Resident memory of this process in bytes. Node reads it from /proc on Linux; without /proc, its peak is what the kernel tells. */
export function residentBytes(): number {
  try {
    return process.memoryUsage.rss();
  } catch {
    return process.resourceUsage().maxRSS * 1024;
  }
}
