/** The user's folder for clusters, with one folder for each name. */

import { homedir } from 'node:os';
import path from 'node:path';
import { platform } from '../../platform.ts';

interface Machine {
  readonly env: NodeJS.ProcessEnv;
  readonly platform: NodeJS.Platform;
  home(): string;
}

const thisMachine: Machine = { env: process.env, platform: platform.name, home: homedir };

/** The usual place of each system; `XDG_DATA_HOME` is honoured everywhere, if it is an absolute path. */
export function dataHome({ env, platform, home }: Machine = thisMachine): string {
  const { XDG_DATA_HOME: chosen = '', LOCALAPPDATA: local = '' } = env;
  if (path.isAbsolute(chosen)) return path.join(chosen, 'wherry');
  // Beside the cache, which is in the same folder there.
  if (platform === 'win32')
    return path.join(local || path.join(home(), 'AppData', 'Local'), 'wherry', 'Data');
  if (platform === 'darwin') return path.join(home(), 'Library', 'Application Support', 'wherry');
  return path.join(home(), '.local', 'share', 'wherry');
}
