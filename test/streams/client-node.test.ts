/** Proves that the official JavaScript client works with pods: Exec, Attach, PortForward, Log and Cp. */

import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { Attach, Cp, Exec, KubeConfig, Log, PortForward, type V1Status } from '@kubernetes/client-node';
import { beforeAll, describe, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { megabyte, Noise, sumUp } from './bytes.ts';
import { portServer, unusedPort } from './port-server.ts';
import { hasEnded, podOf, shell, useRunningCluster, withFolder } from './running.ts';

const cluster = useRunningCluster();
const config = new KubeConfig();
const never = { restartPolicy: 'Never' };
let port = 0;

beforeAll(async () => {
  config.loadFromString(cluster.kubectl.cluster.kubeconfig);
  await Promise.all([
    cluster.run(withFolder(cluster.folder, podOf('one', shell('exec sleep 1000')))),
    cluster.run(podOf('three', shell('echo 1; echo 2; echo 3'), never), hasEnded),
    cluster.run(podOf('server', portServer())),
  ]);
  const { text: log } = await cluster.client.get(
    '/api/v1/namespaces/default/pods/server/log?follow=true&limitBytes=10',
  );
  port = Number(/port (\d+)/.exec(log)![1]);
});

/** Runs a command to its end. */
async function exec(command: string[], input?: Readable, output: Writable = new PassThrough()) {
  const stderr = new PassThrough();
  const complaints = text(stderr);
  const status = await new Promise<V1Status>((resolve, reject) => {
    new Exec(config)
      .exec('default', 'one', 'main', command, output, stderr, input ?? null, false, resolve)
      .catch(reject);
  });
  return { status, stderr: await complaints };
}

describe('Exec', () => {
  it('tells outputs apart, and codes', async () => {
    const stdout = new PassThrough();
    const out = text(stdout);
    const { status, stderr } = await exec(['sh', '-c', 'echo out; echo err >&2; exit 7'], undefined, stdout);
    expect([await out, stderr]).toEqual(['out\n', 'err\n']);
    expect(status).toMatchObject({
      status: 'Failure',
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '7' }] },
    });
    expect((await exec(['true'])).status).toMatchObject({ status: 'Success' });
  });

  it('carries 20 MB both ways, and the end of the input', async () => {
    // The client buffers unsent data, so this is not for gigabytes.
    const stdout = new PassThrough();
    const sum = sumUp(stdout);
    const noise = new Noise(20 * megabyte);
    expect((await exec(['cat'], noise, stdout)).status).toMatchObject({ status: 'Success' });
    expect(await sum).toEqual(noise.sum);
  });

  it('loses nothing that is written just before the end', async () => {
    const sizes = await Promise.all(
      Array.from({ length: 25 }, async () => {
        const stdout = new PassThrough();
        const sum = sumUp(stdout);
        await exec(['head', '-c', '300000', '/dev/zero'], undefined, stdout);
        return (await sum).bytes;
      }),
    );
    expect(sizes).toEqual(sizes.map(() => 300_000));
  });

  it('has a terminal that follows its size', async () => {
    const stdout = Object.assign(new PassThrough(), { rows: 31, columns: 87 });
    const stdin = new PassThrough();
    let seen = '';
    stdout.on('data', (chunk) => {
      seen += chunk;
    });
    const socket = await new Exec(config).exec('default', 'one', 'main', ['sh'], stdout, null, stdin, true);
    const closed = once(socket as unknown as WebSocket, 'close');
    const asked = () => {
      stdin.write('stty size\r');
      return seen;
    };
    await expect.poll(asked).toContain('\n31 87\r\n');
    Object.assign(stdout, { rows: 20, columns: 60 }).emit('resize');
    await expect.poll(asked).toContain('\n20 60\r\n');
    stdin.write('exit\r');
    expect((await closed)[0]).toBe(1000);
  });

  it('is refused before it begins', async () => {
    const refused = new Exec(config).exec('default', 'nobody', 'main', ['true'], null, null, null, false);
    await expect(refused).rejects.toMatchObject({ message: 'Unexpected server response: 404' });
  });
});

it('Attach talks to the main process, and ends with it', async () => {
  const script = 'while read -r word; do echo "heard $word"; [ $word = end ] && exit 0; done';
  await cluster.run(podOf('talk', shell(script, { stdin: true }), never));
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const said = text(stdout);
  const socket = await new Attach(config).attach('default', 'talk', 'main', stdout, null, stdin, false);
  const closed = once(socket as unknown as WebSocket, 'close');
  stdin.write('one\nend\n');
  expect((await closed)[0]).toBe(1000);
  expect(await said).toBe('heard one\nheard end\n');
});

describe('PortForward', () => {
  it('carries a connection, and 20 MB over it', async () => {
    const [output, errors, input] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const socket = await new PortForward(config).portForward(
      'default',
      'server',
      [port],
      output,
      errors,
      input,
    );
    const bytes = 20 * megabyte;
    const noise = new Noise(bytes);
    input.write('echo\n');
    noise.pipe(input, { end: false });
    // This protocol has no half close: the client closes when it has read enough.
    const sum = sumUp(take(output, bytes));
    expect(await sum).toEqual(noise.sum);
    const closed = once(socket as unknown as WebSocket, 'close');
    input.end();
    await closed;
    expect(errors.read()).toBeNull();
  });

  it('says what went wrong', async () => {
    const free = await unusedPort();
    const [output, errors] = [new PassThrough(), new PassThrough()];
    const socket = await new PortForward(config).portForward(
      'default',
      'server',
      [free],
      output,
      errors,
      new PassThrough(),
    );
    await once(socket as unknown as WebSocket, 'close');
    expect(String(errors.read())).toMatch(
      new RegExp(`error forwarding port ${free} to pod .*connection refused`),
    );
  });
});

/** The first bytes of a stream. */
async function* take(stream: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  let left = bytes;
  for await (const chunk of stream) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) return;
  }
}

describe('Log', () => {
  const log = async (pod: string, options: object): Promise<string> => {
    const stream = new PassThrough();
    await new Log(config).log('default', pod, 'main', stream, options);
    return text(stream);
  };

  it('has its options', async () => {
    expect(await log('three', {})).toBe('1\n2\n3\n');
    expect(await log('three', { tailLines: 2 })).toBe('2\n3\n');
    expect(await log('three', { limitBytes: 3 })).toBe('1\n2');
    expect(await log('three', { timestamps: true, tailLines: 1 })).toMatch(/^\d{4}-\S+ 3\n$/);
    expect(await log('three', { follow: true })).toBe('1\n2\n3\n');
    expect(await log('three', { sinceSeconds: 600 })).toBe('1\n2\n3\n');
  });

  it('follows to the end', async () => {
    await cluster.run(podOf('told', shell('echo 1; read -r word; echo $word', { stdin: true }), never));
    const stream = new PassThrough();
    await new Log(config).log('default', 'told', 'main', stream, { follow: true });
    expect(String((await once(stream, 'data'))[0])).toBe('1\n');
    const stdin = new PassThrough();
    await new Attach(config).attach('default', 'told', 'main', null as never, null, stdin, false);
    stdin.write('2\n');
    expect(await text(stream)).toBe('2\n');
  });

  it('is refused', async () => {
    await expect(log('nobody', {})).rejects.toMatchObject({ code: 404 });
  });
});

describe('Cp', () => {
  /**
   * Cp does not wait for its commands; this class reports when they have ended. Cp also asks for a compressed
   * archive but does not decompress it.
   */
  class PatientExec extends Exec {
    over: Promise<unknown> = Promise.resolve();

    override exec(
      ...[namespace, pod, container, command, stdout, stderr, stdin, tty, done]: Parameters<Exec['exec']>
    ) {
      let output = stdout;
      if (stdout) {
        output = createGunzip();
        output.pipe(stdout);
      }
      let socket: ReturnType<Exec['exec']>;
      this.over = new Promise<void>((resolve, reject) => {
        stdout?.on('finish', resolve);
        socket = super.exec(namespace, pod, container, command, output, stderr, stdin, tty, (status) => {
          done?.(status);
          if (status.status !== 'Success') reject(new Error(status.message));
          else if (!stdout) resolve();
        });
      });
      return socket!;
    }
  }

  it('copies to a pod and back', async () => {
    const [there, inside, back] = ['there', 'inside', 'back'].map((name) => path.join(cluster.folder, name));
    for (const folder of [there!, inside!, back!]) await mkdir(path.join(folder, 'sub'), { recursive: true });
    await writeFile(path.join(there!, 'sub', 'file'), 'some text');
    const exec = new PatientExec(config);
    const cp = new Cp(config, exec);
    await cp.cpToPod('default', 'one', 'main', there!, inside!);
    await exec.over;
    expect(await readFile(path.join(inside!, 'sub', 'file'), 'utf8')).toBe('some text');
    await cp.cpFromPod('default', 'one', 'main', 'sub', back!, inside!);
    await exec.over;
    expect(await readFile(path.join(back!, 'sub', 'file'), 'utf8')).toBe('some text');
  });
});
