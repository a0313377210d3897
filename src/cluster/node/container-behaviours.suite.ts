/** What pods do in containers, and not as processes: they have the files of their image, and rights of their own. */
import { readlink } from 'node:fs/promises';
import { expect } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { testImage } from '../../node/runtime/engine/engine.fixture.ts';
import { eventually, first, type PodBench, phase, ready, sh } from './pod-bench.fixture.ts';

export const containerBehaviours = {
  'runs the command of the image, with its variables, folder and files': async (bench: PodBench) => {
    await bench.create('image', { containers: [{ name: 'c', image: testImage, imagePullPolicy: 'Never' }] });
    const pod = await bench.until('image', ready);
    await eventually(async () => expect(await bench.log('image')).toBe('from the image\n'));
    const { stdout } = await bench.exec('image', ['sh', '-c', 'echo $FROM_IMAGE; pwd; cat index.html; ls /']);
    expect(stdout.split('\n').slice(0, 3)).toEqual(['yes', '/www', 'hello from the image']);
    expect(first(pod).imageID).toMatch(/sha256:[0-9a-f]{64}/);
    await bench.event('image', 'already present on machine');
    await bench.remove('image');
  },

  'limits rights: capabilities, a read-only root, no new privileges, users of the image': async (
    bench: PodBench,
  ) => {
    const securityContext = {
      capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
    };
    const script =
      'grep -E "CapBnd|NoNewPrivs" /proc/self/status | cut -f2; touch /x 2>&1 | grep -c Read-only';
    await bench.finish('rights', { containers: [sh(script, { securityContext })] });
    expect(await bench.log('rights')).toBe('0000000000000400\n1\n1\n');
    await bench.create('root', {
      securityContext: { runAsNonRoot: true },
      containers: [sh('sleep 3600')],
    });
    const refused = await bench.until(
      'root',
      (pod) => first(pod).state?.waiting?.reason === 'CreateContainerConfigError',
    );
    expect(first(refused).state?.waiting?.message).toBe(
      'container has runAsNonRoot and image will run as root',
    );
    await bench.remove('root');
  },

  'has all rights where the pod says so': async (bench: PodBench) => {
    const script = 'grep CapBnd /proc/self/status | cut -f2';
    const rights = async (name: string, securityContext: object): Promise<bigint> => {
      await bench.finish(name, { containers: [sh(script, { securityContext })] });
      return BigInt(`0x${await bench.log(name)}`);
    };
    expect(await rights('privileged', { privileged: true })).toBeGreaterThan(await rights('plain', {}));
  },

  'filters system calls where the pod says so': async (bench: PodBench) => {
    const script = 'grep Seccomp: /proc/self/status | cut -f2';
    const filter = async (name: string, type: string): Promise<string> => {
      const securityContext = { seccompProfile: { type } };
      await bench.finish(name, { containers: [sh(script, { securityContext })] });
      return bench.log(name);
    };
    expect(await filter('filtered', 'RuntimeDefault')).toBe('2\n');
    expect(await filter('unfiltered', 'Unconfined')).toBe('0\n');
  },

  'shares network, processes and memory of the machine where the pod says so': async (bench: PodBench) => {
    const names = ['net', 'pid', 'ipc'];
    const script = names.map((name) => `readlink /proc/self/ns/${name}`).join('; ');
    const pod = await bench.finish('shares', {
      hostNetwork: true,
      hostPID: true,
      hostIPC: true,
      containers: [sh(script)],
    });
    const own = await Promise.all(names.map((name) => readlink(`/proc/self/ns/${name}`)));
    expect((await bench.log('shares')).trim().split('\n')).toEqual(own);
    expect(pod.status?.podIP).toBe(pod.status?.hostIP);
  },

  'lets an ephemeral container see the processes of another': async (bench: PodBench) => {
    await bench.create('looked', { containers: [sh('exec sleep 3603')] });
    await bench.until('looked', ready);
    const script = 'tr "\\0" " " < /proc/1/cmdline';
    const ephemeralContainers = [{ ...sh(script, { name: 'debug' }), targetContainerName: 'c' }];
    await bench.change('looked', 'ephemeralcontainers', { ephemeralContainers });
    await bench.until('looked', (pod) => !!pod.status?.ephemeralContainerStatuses?.[0]?.state?.terminated);
    expect(await bench.log('looked', 'container=debug')).toBe('sleep 3603 ');
    await bench.remove('looked');
  },

  'keeps a long log in several files, and reads it as one': async (bench: PodBench) => {
    const lines = 12_000;
    const long = 'x'.repeat(1_000);
    // Files are looked at every 10 seconds.
    const script = `busybox awk 'BEGIN { for (i = 0; i < ${lines}; i++) print i, "${long}" }'; sleep 11; echo last`;
    await bench.finish('long', { containers: [sh(script)] });
    const read = (await bench.log('long')).trim().split('\n');
    expect(read).toHaveLength(lines + 1);
    expect(read[0]).toBe(`0 ${long}`);
    expect(read.at(-1)).toBe('last');
    expect(await bench.log('long', 'tailLines=2')).toBe(`${lines - 1} ${long}\nlast\n`);
  },

  'sees only its own processes, or those of the pod': async (bench: PodBench) => {
    const containers = [sh('sleep 3601'), sh('sleep 3602', { name: 'b' })];
    const count = ['sh', '-c', 'cat /proc/[0-9]*/cmdline | tr "\\0" "\\n" | grep -cx "360[12]"'];
    const all = (pod: Pod) => pod.status?.containerStatuses?.every((one) => one.ready);
    await bench.create('alone', { containers });
    await bench.create('shared', { shareProcessNamespace: true, containers });
    await Promise.all([bench.until('alone', all), bench.until('shared', all)]);
    expect((await bench.exec('alone', count)).stdout).toBe('1\n');
    expect((await bench.exec('shared', count)).stdout).toBe('2\n');
    await Promise.all([bench.remove('alone'), bench.remove('shared')]);
  },

  'shares memory between the containers of a pod, and sets kernel parameters': async (bench: PodBench) => {
    const script = 'cat /proc/sys/net/ipv4/ip_unprivileged_port_start; cat /dev/shm/x';
    await bench.finish('kernel', {
      securityContext: { sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '77' }] },
      initContainers: [sh('echo shared > /dev/shm/x', { name: 'i' })],
      containers: [sh(script)],
    });
    expect(await bench.log('kernel')).toBe('77\nshared\n');
  },

  'mounts the files of an image as a volume': async (bench: PodBench) => {
    await bench.finish('imagevolume', {
      volumes: [{ name: 'i', image: { reference: testImage, pullPolicy: 'IfNotPresent' } }],
      containers: [
        sh('cat /files/www/index.html; touch /files/x 2>&1 | grep -c Read-only', {
          volumeMounts: [{ name: 'i', mountPath: '/files' }],
        }),
      ],
    });
    expect(await bench.log('imagevolume')).toBe('hello from the image\n1\n');
  },

  'mounts a folder of an image as a volume': async (bench: PodBench) => {
    await bench.finish('imagefolder', {
      volumes: [{ name: 'i', image: { reference: testImage, pullPolicy: 'IfNotPresent' } }],
      containers: [
        sh('cat /files/index.html', { volumeMounts: [{ name: 'i', mountPath: '/files', subPath: 'www' }] }),
      ],
    });
    expect(await bench.log('imagefolder')).toBe('hello from the image\n');
  },

  'waits for an image that must not be pulled, or has no possible name': async (bench: PodBench) => {
    const image = (name: string, more: object = {}) => [{ name: 'c', image: name, ...more }];
    await bench.create('never', { containers: image('localhost/none:1', { imagePullPolicy: 'Never' }) });
    await bench.create('invalid', { containers: image('No/Such:Name:') });
    const waiting = (reason: string) => (pod: Pod) => first(pod).state?.waiting?.reason === reason;
    const never = await bench.until('never', waiting('ErrImageNeverPull'));
    expect(first(never).state?.waiting?.message).toBe(
      'Container image "localhost/none:1" is not present with pull policy of Never',
    );
    await bench.until('invalid', waiting('InvalidImageName'));
    await Promise.all([bench.remove('never'), bench.remove('invalid')]);
  },

  'starts again when its sandbox has died': async (bench: PodBench) => {
    await bench.create('orphan', { containers: [sh('sleep 3600')] });
    const before = await bench.until('orphan', ready);
    await bench.killSandbox?.(before.metadata.uid!);
    const after = await bench.until('orphan', (pod) => first(pod).restartCount === 1 && ready(pod));
    expect(after.status?.podIP).toBe(before.status?.podIP);
    expect(phase('Running')(after)).toBe(true);
    await bench.remove('orphan');
  },
};
