/** Proves that a container is made anew when the engine has lost sight of its sandbox, and not for ever. */
import { expect, it } from 'vitest';
import type { NewRun } from '../engine/engine-pod.ts';
import { type CriEngine, CriPod } from './cri-pod.ts';

class OpenPod extends CriPod {
  begin = (): Promise<unknown> => this.startRun(wanted);
}

const wanted = {
  launch: {
    pod: { metadata: {}, spec: {} },
    container: { name: 'c' },
    image: { engine: {} },
    mounts: [],
    command: ['true'],
    env: [],
  },
  facts: {
    uid: 'u',
    name: 'c',
    attempt: 0,
    image: 'i',
    shownImageId: '',
    messagePolicy: '',
    terminationFile: '',
  },
  sandbox: { id: 's', attempt: 0 },
  rights: { groups: [], addedCapabilities: [], droppedCapabilities: [], seccomp: 'default' },
} as unknown as NewRun;
const lost =
  'failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to create new parent process: namespace path: lstat /proc/0/ns/ipc: no such file or directory: unknown';

const other = 'exec: "nothing": executable file not found in $PATH';

/** A pod whose engine fails to start containers, for these reasons in turn and then for the last one. */
function podOf(...messages: string[]) {
  const made: string[] = [];
  const deleted: string[] = [];
  const call = async (method: string) => {
    if (method === 'StartContainer') throw new Error(messages[made.length - 1] ?? messages.at(-1));
    made.push(`container-${made.length}`);
    return { id: made.at(-1) };
  };
  const engine = {
    api: { call },
    calls: { delete: async (id: string) => void deleted.push(id) },
    owner: { node: 'n', cluster: 'k' },
    features: {},
    cni: { isAbsent: true },
    folder: '/nowhere',
    onError: () => undefined,
  };
  return { pod: new OpenPod(engine as unknown as CriEngine, 'u'), made, deleted };
}

it('begins again, with another container, until the sandbox is seen', async () => {
  const { pod, made, deleted } = podOf(lost, lost, other);
  await expect(pod.begin()).rejects.toThrow(other);
  expect(made).toEqual(['container-0', 'container-1', 'container-2']);
  expect(deleted).toEqual(made);
});

it('gives up when it stays lost', async () => {
  const { pod, made } = podOf(lost);
  await expect(pod.begin()).rejects.toThrow('/proc/0/ns/ipc');
  expect(made).toHaveLength(4);
});

it('begins once where something else is wrong', async () => {
  const { pod, made } = podOf(other);
  await expect(pod.begin()).rejects.toThrow(other);
  expect(made).toHaveLength(1);
});
