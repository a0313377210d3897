/** The user's folder for clusters, with one folder for each name. */

import path from 'node:path';
import { homeFolder, platform } from '../../platform.ts';
import { StartError } from '../shared/start-error.ts';

interface Machine {
  readonly env: NodeJS.ProcessEnv;
  readonly platform: NodeJS.Platform;
  home(): string | undefined;
}

const thisMachine: Machine = { env: process.env, platform: platform.name, home: homeFolder };

/** The usual place of each system; `XDG_DATA_HOME` is honoured everywhere, if it is an absolute path. Throws a `StartError` without a home. */
export function dataHome({ env, platform, home: homeOf }: Machine = thisMachine): string {
  const { XDG_DATA_HOME: chosen = '', LOCALAPPDATA: local = '' } = env;
  if (path.isAbsolute(chosen)) return path.join(chosen, 'wherry');
  const home = (): string => homeOf() ?? unknownHome();
  // Beside the cache, which is in the same folder there.
  if (platform === 'win32')
    return path.join(local || path.join(home(), 'AppData', 'Local'), 'wherry', 'Data');
  if (platform === 'darwin') return path.join(home(), 'Library', 'Application Support', 'wherry');
  return path.join(home(), '.local', 'share', 'wherry');
}

function unknownHome(): never {
  throw new StartError('the home folder of this user is not known: set HOME or XDG_DATA_HOME');
}
