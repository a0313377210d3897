/**
 * What pods do on every runtime: the same list for processes and containers. What a runtime cannot do is in
 * `runtime-limits.suite.ts`, with the reason.
 */
import { expect } from 'vitest';
import { freePorts } from '../../../test/support/free-ports.ts';
import type { Pod } from '../../api/generated/types.ts';
import { configMaps, pods, secrets } from '../../client/resources.ts';
import { encodeHeaders } from '../../grpc/header-block.ts';
import { testImage } from '../../node/runtime/engine/engine.fixture.ts';
import { eventually, first, type PodBench, phase, ready, sh } from './pod-bench.fixture.ts';

/** The bytes of an answer to `grpc.health.v1.Health/Check` that says SERVING, for `printf`. */
function healthyBytes(): string {
  const frame = (type: number, flags: number, stream: number, payload: Buffer): Buffer =>
    Buffer.concat([Buffer.from([0, 0, payload.length, type, flags, 0, 0, 0, stream]), payload]);
  const bytes = Buffer.concat([
    frame(4, 0, 0, Buffer.alloc(0)),
    frame(4, 1, 0, Buffer.alloc(0)),
    frame(1, 4, 1, encodeHeaders({ ':status': '200', 'content-type': 'application/grpc' })),
    frame(0, 0, 1, Buffer.from([0, 0, 0, 0, 2, 8, 1])),
    frame(1, 5, 1, encodeHeaders({ 'grpc-status': '0' })),
  ]);
  return Array.from(bytes, (byte) => `\\\\${byte.toString(8).padStart(3, '0')}`).join('');
}

export const podBehaviours: Readonly<Record<string, (bench: PodBench) => Promise<void>>> = {
  'runs a command with variables, and shows its output, exit code and termination message': async (bench) => {
    const env = [
      { name: 'WHO', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'TEXT', value: 'for $(WHO)' },
    ];
    const script = 'echo "$TEXT"; echo err >&2; printf "the end" > /dev/termination-log; exit 3';
    const pod = await bench.finish('out', { containers: [sh(script, { env })] });
    expect(pod.status?.phase).toBe('Failed');
    expect(first(pod).state?.terminated).toMatchObject({ exitCode: 3, reason: 'Error', message: 'the end' });
    expect((await bench.log('out')).split('\n').sort()).toEqual(['', 'err', `for ${bench.name('out')}`]);
    expect(first(pod).containerID).toMatch(new RegExp(`^${bench.runtime}://[0-9a-f]{64}$`));
  },

  'runs no pod that wants users or a system of its own': async (bench) => {
    const root = { containers: [sh('id -u', { securityContext: { runAsUser: 0 } })] };
    await bench.create('own-users', { hostUsers: false, ...root });
    const { reason, message } = await bench.event('own-users', 'spec.hostUsers');
    const who = bench.runtime ? `RuntimeClass handler "${bench.runtime}"` : 'runtime';
    expect([reason, message]).toEqual([
      'FailedCreatePodSandBox',
      `Failed to create pod sandbox: can't set \`spec.hostUsers: false\`, ${who} does not support user namespaces`,
    ]);
    const waiting = await bench.until('own-users', phase('Pending'));
    expect(first(waiting).state?.running).toBe(undefined);
    await bench.remove('own-users');
    const { status } = await bench.finish('own-system', {
      os: { name: 'windows' },
      containers: [{ name: 'c', image: testImage }],
    });
    expect(status).toMatchObject({
      phase: 'Failed',
      reason: 'PodOSNotSupported',
      message: "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS",
    });
  },

  'uses the end of the log as the termination message where the pod says so': async (bench) => {
    const more = { terminationMessagePolicy: 'FallbackToLogsOnError' };
    const pod = await bench.finish('fallback', { containers: [sh('echo the reason; exit 1', more)] });
    expect(first(pod).state?.terminated?.message).toBe('the reason\n');
  },

  'restarts a container, counts it, and keeps the log before': async (bench) => {
    const volumes = { volumes: [{ name: 'v', emptyDir: {} }] };
    const script = 'if [ -e /v/again ]; then echo second; sleep 3600; fi; touch /v/again; echo first; exit 4';
    const volumeMounts = [{ name: 'v', mountPath: '/v' }];
    await bench.create('again', { ...volumes, containers: [sh(script, { volumeMounts })] });
    const pod = await bench.until('again', (one) => first(one).restartCount === 1 && ready(one));
    expect(first(pod).lastState?.terminated).toMatchObject({ exitCode: 4, reason: 'Error' });
    await eventually(async () => expect(await bench.log('again')).toBe('second\n'));
    expect(await bench.log('again', 'previous=true')).toBe('first\n');
    await bench.remove('again');
  },

  'runs init containers in order, then a sidecar beside the containers': async (bench) => {
    const volumeMounts = [{ name: 'v', mountPath: '/v' }];
    const step = (name: string, script: string, more: object = {}) =>
      sh(script, { name, volumeMounts, ...more });
    const pod = await bench.finish('init', {
      volumes: [{ name: 'v', emptyDir: {} }],
      initContainers: [
        step('one', 'echo one >> /v/order'),
        step('side', 'echo side >> /v/order; sleep 3600', { restartPolicy: 'Always' }),
        step('two', 'sleep 0.3; echo two >> /v/order'),
      ],
      containers: [step('c', 'cat /v/order')],
    });
    expect(pod.status?.phase).toBe('Succeeded');
    expect(await bench.log('init', 'container=c')).toBe('one\nside\ntwo\n');
  },

  'starts all containers of a pod at the first try, however many there are': async (bench) => {
    const counts = [2, 5, 10];
    const containers = (count: number) =>
      Array.from({ length: count }, (_, i) => sh('cat /etc/hosts; sleep 3600', { name: `c${i}` }));
    for (const count of counts) {
      const name = `many-${count}`;
      await bench.create(name, { containers: containers(count) });
      const states: (string | undefined)[] = [];
      const pod = await bench.until(name, ({ status }) => {
        const all = status?.containerStatuses ?? [];
        states.push(...all.map(({ state }) => state?.waiting?.reason));
        return all.length === count && all.every((one) => one.ready);
      });
      expect(states.filter((reason) => reason && reason !== 'ContainerCreating')).toEqual([]);
      expect(pod.status?.containerStatuses?.map(({ lastState }) => lastState)).toEqual(Array(count).fill({}));
      expect(pod.status?.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual(
        Array(count).fill(0),
      );
      const warnings = (await bench.events(name)).filter(({ type }) => type === 'Warning');
      expect(warnings.map(({ message }) => message)).toEqual([]);
      await bench.remove(name);
    }
  },

  'probes by command, HTTP and TCP': async (bench) => {
    const server = 'mkdir -p /v/www; echo fine > /v/www/index.html; exec busybox httpd -f -p 18080 -h /v/www';
    await bench.create('probed', {
      volumes: [{ name: 'v', emptyDir: {} }],
      containers: [
        sh(server, {
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
          startupProbe: {
            tcpSocket: { port: 18080 },
            periodSeconds: 1,
            failureThreshold: 60,
            timeoutSeconds: 20,
          },
          livenessProbe: { httpGet: { port: 18080, path: '/' }, periodSeconds: 1, timeoutSeconds: 20 },
          readinessProbe: {
            exec: { command: ['test', '-e', '/v/www/index.html'] },
            periodSeconds: 1,
            timeoutSeconds: 20,
          },
        }),
      ],
    });
    await bench.until('probed', ready);
    await bench.exec('probed', ['rm', '/v/www/index.html']);
    await bench.until('probed', (pod) => first(pod).ready === false && !!first(pod).state?.running);
    await bench.until('probed', (pod) => (first(pod).restartCount ?? 0) > 0);
    await bench.event('probed', 'Liveness probe failed: HTTP probe failed with statuscode: 404');
    await bench.remove('probed');
  },

  'is probed and proxied at its address, where a server on its loopback address does not answer': async (
    bench,
  ) => {
    const tcpSocket = { port: 18083 };
    await bench.create('inner', {
      volumes: [{ name: 'v', emptyDir: {} }],
      containers: [
        sh('echo inner > /v/index.html; exec busybox httpd -f -p 127.0.0.1:18083 -h /v', {
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
          readinessProbe: { tcpSocket, periodSeconds: 1, timeoutSeconds: 20 },
        }),
      ],
    });
    const pod = await bench.until('inner', (one) => first(one).started && !!one.status?.podIP);
    const refused = `dial tcp ${pod.status!.podIP}:18083: connect: connection refused`;
    await eventually(async () => {
      const { stdout } = await bench.exec('inner', ['busybox', 'wget', '-qO-', 'http://127.0.0.1:18083/']);
      expect(stdout).toBe('inner\n');
    });
    await bench.event('inner', `Readiness probe failed: ${refused}`);
    const proxied = await bench.get(
      `/api/v1/namespaces/default/pods/${bench.name('inner')}:18083/proxy/index.html`,
    );
    expect(JSON.parse(proxied)).toMatchObject({
      code: 503,
      message: `error trying to reach service: ${refused}`,
    });
    const now = await bench.client.get(pods, 'default', bench.name('inner'));
    expect(first(now)).toMatchObject({ ready: false, restartCount: 0 });
    await bench.remove('inner');
  },

  'runs hooks after the start and before the stop': async (bench) => {
    const volumeMounts = [{ name: 'v', mountPath: '/v' }];
    const write = (text: string) => ({ exec: { command: ['sh', '-c', `echo ${text} >> /v/hooks`] } });
    await bench.create('hooked', {
      terminationGracePeriodSeconds: 20,
      volumes: [{ name: 'v', emptyDir: {} }],
      initContainers: [
        sh('trap "cat /v/hooks; exit 0" TERM; while true; do sleep 0.1; done', {
          name: 'side',
          restartPolicy: 'Always',
          volumeMounts,
        }),
      ],
      containers: [
        sh('trap "exit 0" TERM; while true; do sleep 0.1; done', {
          volumeMounts,
          lifecycle: { postStart: write('begun'), preStop: write('ending') },
        }),
      ],
    });
    await bench.until('hooked', ready);
    const log = bench.log('hooked', 'container=side&follow=true');
    await bench.remove('hooked', 20);
    // A shell may say that its child was terminated.
    expect(await log).toMatch(/begun\nending\n$/);
  },

  'runs commands beside the container: input, both outputs, exit code, terminal': async (bench) => {
    await bench.create('execs', { containers: [sh('sleep 3600')] });
    await bench.until('execs', ready);
    const ran = await bench.exec('execs', ['sh', '-c', 'cat; echo err >&2; exit 7'], 'from the client\n');
    expect(ran).toEqual({ result: { kind: 'exit', code: 7 }, stdout: 'from the client\n', stderr: 'err\n' });
    const terminal = await bench.exec(
      'execs',
      ['sh', '-c', 'sleep 0.3; stty size; test -t 0 && echo tty'],
      undefined,
      true,
    );
    expect(terminal.stdout).toBe('33 77\r\ntty\r\n');
    await bench.remove('execs');
  },

  'attaches to the container': async (bench) => {
    await bench.create('attached', {
      restartPolicy: 'Never',
      containers: [sh('read line; echo "got $line"; exit 0', { stdin: true, stdinOnce: true })],
    });
    await bench.until('attached', phase('Running'));
    const { stdout } = await bench.attach('attached', 'some input\n');
    expect(stdout).toBe('got some input\n');
    await bench.until('attached', phase('Succeeded'));
  },

  'mounts volumes of every kind at their paths, with their owner and read-only': async (bench) => {
    const object = bench.name('objects');
    await bench.client.create(configMaps, 'default', {
      metadata: { name: object },
      data: { a: 'from the map' },
    });
    await bench.client.create(secrets, 'default', {
      metadata: { name: object },
      data: { s: Buffer.from('secret').toString('base64') },
    });
    const mount = (name: string, mountPath: string, more: object = {}) => ({ name, mountPath, ...more });
    const script = [
      'cat /map/a; echo',
      'cat /secret/s; echo',
      'cat /both/labels /both/a; echo',
      'echo x > /disk/x; stat -c %g /disk/x',
      'cat /disk/x; echo y > /one/y; cat /disk/sub/y',
      'touch /map/b 2>/dev/null && echo written',
      'grep " /memory tmpfs" /proc/mounts | cut -d" " -f2,3',
      'cat /host/file',
    ];
    const pod = await bench.finish('volumes', {
      securityContext: { fsGroup: 2345 },
      volumes: [
        { name: 'map', configMap: { name: object } },
        { name: 'secret', secret: { secretName: object } },
        {
          name: 'both',
          projected: {
            sources: [
              { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
              { configMap: { name: object } },
            ],
          },
        },
        { name: 'disk', emptyDir: {} },
        { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
        { name: 'host', hostPath: { path: bench.hostFolder } },
      ],
      containers: [
        sh(script.join('; '), {
          volumeMounts: [
            mount('map', '/map'),
            mount('secret', '/secret'),
            mount('both', '/both'),
            mount('disk', '/disk'),
            mount('disk', '/one', { subPath: 'sub' }),
            mount('memory', '/memory'),
            mount('host', '/host', { readOnly: true }),
          ],
        }),
      ],
    });
    expect(pod.status?.phase).toBe('Succeeded');
    expect((await bench.log('volumes')).split('\n')).toEqual([
      'from the map',
      'secret',
      'from the map',
      '2345',
      'x',
      'y',
      '/memory tmpfs',
      'of the machine',
      '',
    ]);
  },

  'runs as the user and with the groups that the pod names': async (bench) => {
    const securityContext = { runAsUser: 1000, runAsGroup: 3000, supplementalGroups: [4000], fsGroup: 5000 };
    await bench.finish('user', {
      securityContext,
      containers: [sh('id -u; id -g; id -G | tr " " "\\n" | sort -n | tr "\\n" " "')],
    });
    expect(await bench.log('user')).toBe('1000\n3000\n3000 4000 5000 ');
  },

  'has its own host name, address and names': async (bench) => {
    await bench.create('named', {
      hostname: 'other',
      hostAliases: [{ ip: '192.0.2.9', hostnames: ['alias'] }],
      containers: [sh('hostname; sleep 3600')],
    });
    const pod = await bench.until('named', ready);
    await eventually(async () => expect(await bench.log('named')).toBe('other\n'));
    const { stdout } = await bench.exec('named', ['cat', '/etc/hosts', '/etc/resolv.conf']);
    expect(stdout).toContain(`${pod.status!.podIP}\tother`);
    expect(stdout).toContain('192.0.2.9\talias');
    expect(stdout).toMatch(
      /nameserver .*\n[\s\S]*search default\.svc\.cluster\.local|search default\.svc\.cluster\.local[\s\S]*nameserver/,
    );
    await bench.remove('named');
  },

  'is killed when it uses too much memory': async (bench) => {
    const limits = { memory: '24Mi' };
    const script = 'x=a; while true; do x="$x$x$x"; done';
    const pod = await bench.finish('hungry', { containers: [sh(script, { resources: { limits } })] });
    expect(first(pod).state?.terminated).toMatchObject({ reason: 'OOMKilled', exitCode: 137 });
  },

  'gets other limits while it runs': async (bench) => {
    const resources = { requests: { cpu: '100m', memory: '32Mi' }, limits: { cpu: '200m', memory: '32Mi' } };
    await bench.create('resized', { containers: [sh('sleep 3600', { resources })] });
    const before = await bench.until('resized', ready);
    const larger = { requests: { cpu: '150m', memory: '48Mi' }, limits: { cpu: '300m', memory: '48Mi' } };
    await bench.change('resized', 'resize', { containers: [{ name: 'c', resources: larger }] });
    const after = await bench.until('resized', (pod) => first(pod).resources?.limits?.['memory'] === '48Mi');
    expect(first(after)).toMatchObject({ restartCount: 0, containerID: first(before).containerID });
    await bench.remove('resized');
  },

  'answers at its ports, from the server and from other pods': async (bench) => {
    const script = 'mkdir -p /v/www; hostname > /v/www/index.html; exec busybox httpd -f -p 18081 -h /v/www';
    await bench.create('server', {
      hostname: 'the-server',
      volumes: [{ name: 'v', emptyDir: {} }],
      containers: [
        sh(script, { volumeMounts: [{ name: 'v', mountPath: '/v' }], ports: [{ containerPort: 18081 }] }),
      ],
    });
    const { status } = await bench.until('server', ready);
    const path = `/api/v1/namespaces/default/pods/${bench.name('server')}:18081/proxy/`;
    await eventually(async () => expect(await bench.get(path)).toBe('the-server\n'));
    await bench.create('client', { containers: [sh('sleep 3600')] });
    await bench.until('client', ready);
    const { stdout } = await bench.exec('client', [
      'busybox',
      'wget',
      '-qO-',
      `http://${status!.podIP}:18081/`,
    ]);
    expect(stdout).toBe('the-server\n');
    await Promise.all([bench.remove('server'), bench.remove('client')]);
  },

  'answers at a port of the machine': async (bench) => {
    const [hostPort] = await freePorts(1);
    const script = 'mkdir -p /v/www; hostname > /v/www/index.html; exec busybox httpd -f -p 18083 -h /v/www';
    await bench.create('outside', {
      hostname: 'outside',
      volumes: [{ name: 'v', emptyDir: {} }],
      containers: [
        sh(script, {
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
          ports: [{ containerPort: 18083, hostPort }],
        }),
      ],
    });
    await bench.until('outside', ready);
    // Not with `fetch`: the first of a process never ends when its connection is reset, as it is until the pod listens.
    const url = `http://127.0.0.1:${hostPort}/`;
    await eventually(async () => expect(await bench.get(url)).toBe('outside\n'));
    await bench.remove('outside');
  },

  'is asked for its health by gRPC': async (bench) => {
    // The answer of a healthy server, as the bytes of HTTP/2: settings, headers, the message, trailers.
    const script = `printf 'sleep 0.3; printf "%s"; sleep 2' '${healthyBytes()}' > /v/answer; chmod +x /v/answer; exec busybox nc -ll -p 18084 -e sh /v/answer`;
    await bench.create('healthy', {
      volumes: [{ name: 'v', emptyDir: {} }],
      containers: [
        sh(script, {
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
          readinessProbe: { grpc: { port: 18084 }, periodSeconds: 1, timeoutSeconds: 20 },
        }),
      ],
    });
    await bench.until('healthy', ready);
    await bench.remove('healthy');
  },

  'lets an ephemeral container join': async (bench) => {
    await bench.create('debugged', { containers: [sh('sleep 3600')] });
    await bench.until('debugged', ready);
    const ephemeralContainers = [{ ...sh('echo debugging; exit 0', { name: 'debug' }) }];
    await bench.change('debugged', 'ephemeralcontainers', { ephemeralContainers });
    const debug = (pod: Pod) => pod.status?.ephemeralContainerStatuses?.[0];
    const pod = await bench.until('debugged', (one) => !!debug(one)?.state?.terminated);
    expect(debug(pod)?.state?.terminated?.exitCode).toBe(0);
    expect(await bench.log('debugged', 'container=debug')).toBe('debugging\n');
    await bench.remove('debugged');
  },

  'says what it uses': async (bench) => {
    await bench.create('used', {
      containers: [sh('i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 3600')],
    });
    await bench.until('used', ready);
    const path = `/api/v1/nodes/${bench.nodeName}/proxy/stats/summary`;
    interface Summary {
      pods: {
        podRef: { name: string };
        cpu: { usageCoreNanoSeconds: number };
        memory: { workingSetBytes: number };
      }[];
    }
    const mine = async () =>
      (JSON.parse(await bench.get(path)) as Summary).pods.find(
        ({ podRef }) => podRef.name === bench.name('used'),
      );
    await eventually(async () => expect((await mine())?.cpu.usageCoreNanoSeconds ?? 0).toBeGreaterThan(0));
    expect((await mine())!.memory.workingSetBytes).toBeGreaterThan(10_000);
    await bench.remove('used');
  },

  'says that its program cannot be started': async (bench) => {
    await bench.create('nothing', {
      restartPolicy: 'Never',
      containers: [sh('', { command: ['/no/such/program'] })],
    });
    const pod = await bench.until('nothing', phase('Failed'));
    expect(first(pod).state?.terminated).toMatchObject({ reason: 'ContainerCannotRun', exitCode: 127 });
    await bench.remove('nothing');
  },

  'reads the last lines of a log, with times, and follows it': async (bench) => {
    await bench.create('logs', {
      restartPolicy: 'Never',
      containers: [sh('for i in 1 2 3 4; do echo line $i; done; sleep 1; echo last')],
    });
    await bench.until('logs', (pod) => phase('Running')(pod) || phase('Succeeded')(pod));
    expect(await bench.log('logs', 'follow=true')).toBe('line 1\nline 2\nline 3\nline 4\nlast\n');
    expect(await bench.log('logs', 'tailLines=2')).toBe('line 4\nlast\n');
    expect(await bench.log('logs', 'tailLines=1&timestamps=true')).toMatch(
      /^\d{4}-\d\d-\d\dT[\d:.]+Z last\n$/,
    );
    expect(await bench.log('logs', 'limitBytes=6')).toBe('line 1');
    await bench.remove('logs');
  },
};
