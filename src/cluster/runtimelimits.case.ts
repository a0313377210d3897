/** What a runtime cannot do, by the name of the behaviour, and why. `docs/runtimes.md` has the same list for users. */
import type { CriFeatures } from '../node/runtime/cri/crifeatures.ts';
import type { containerBehaviours } from './containerbehaviours.case.ts';

type Name = keyof typeof containerBehaviours;

export const processLimits: Readonly<Record<Name, string>> = {
  'runs the command of the image, with its variables, folder and files':
    'an image is a name for a command of the machine',
  'limits rights: capabilities, a read-only root, no new privileges, users of the image':
    'there is no image that could name a user',
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

/** Of Podman 4.3. */
export const podmanLimits: Readonly<Record<string, string>> = {
  'gets other limits while it runs': 'it has no call for it; newer ones have',
  'is killed when it uses too much memory': 'it does not say so with control groups of version 1',
};
