/** The mounts of a container: its volumes and files, and the file for its termination message. */
import { messagePathDefault } from '../../logs/termination-message.ts';
import type { ContainerLaunch, Mount } from '../runtime.ts';

const depth = ({ path }: Mount): number => path.split('/').length;

/** All mounts, outer folders first, so that a mount does not hide one below it. */
export const allMounts = ({ mounts, container }: ContainerLaunch, terminationFile: string): Mount[] =>
  [
    ...mounts,
    {
      path: container.terminationMessagePath || messagePathDefault,
      source: terminationFile,
      readOnly: false,
    },
  ].sort((a, b) => depth(a) - depth(b));
