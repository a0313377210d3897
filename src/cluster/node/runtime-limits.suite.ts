/** What a runtime cannot do, by the name of the behaviour, and why. `docs/runtimes.md` has the same list for users. */
import { existsSync, readFileSync } from 'node:fs';
import type { CriFeatures } from '../../node/runtime/cri/cri-features.ts';
import type { containerBehaviours } from './container-behaviours.suite.ts';

type Name = keyof typeof containerBehaviours;

export const processLimits: Readonly<Record<Name, string>> = {
  'runs the command of the image, with its variables, folder and files':
    'an image is a name for a command of the machine',
  'limits rights: capabilities, a read-only root, no new privileges, users of the image':
    'there is no image that could name a user',
  'has all rights where the pod says so': 'a process has the rights that Wherry has, or fewer',
  'filters system calls where the pod says so': 'processes are not filtered',
  'shares network, processes and memory of the machine where the pod says so':
    'processes and memory are always those of the machine',
  'lets an ephemeral container see the processes of another': 'processes are those of the machine',
  'keeps a long log in several files, and reads it as one': 'Wherry writes the log itself',
  'sees only its own processes, or those of the pod': 'processes are those of the machine',
  'shares memory between the containers of a pod, and sets kernel parameters':
    '/dev/shm is that of the machine',
  'mounts the files of an image as a volume': 'only images of the table have files',
  'mounts a folder of an image as a volume': 'only images of the table have files',
  'waits for an image that must not be pulled, or has no possible name': 'nothing is pulled',
  'starts again when its sandbox has died': 'there is no sandbox',
};

export const criLimits = ({
  imageMounts,
  imageSubPaths,
}: Partial<CriFeatures> = {}): Partial<Record<Name, string>> => ({
  ...(imageMounts
    ? {}
    : { 'mounts the files of an image as a volume': 'containerd does so from 2.1, CRI-O from 1.31' }),
  ...(imageSubPaths
    ? {}
    : { 'mounts a folder of an image as a volume': 'containerd does so from 2.2, CRI-O from 1.33' }),
});

/** Whether a process of this machine has every right that the kernel knows. */
function hasAllRights(): boolean {
  const status = existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : '';
  const [, rights = '0'] = /^CapBnd:\s+([0-9a-f]+)$/m.exec(status) ?? [];
  return !BigInt(`0x${rights}`).toString(2).includes('0');
}

export const dockerLimits: Readonly<Record<string, string>> = hasAllRights()
  ? {}
  : { 'has all rights where the pod says so': 'this machine withholds rights that Docker insists on' };

/** What Podman 4.3 cannot do; from 5 on it changes limits and says what was killed. */
export const podmanLimits: Readonly<Record<string, string>> = {
  'gets other limits while it runs': 'it has no call for it',
  'keeps a long log in several files, and reads it as one': 'it keeps the end of a log only',
  'is killed when it uses too much memory': 'it does not say so with control groups of version 1',
};
