/** Proves that `kubectl port-forward` forwards connections: many, large, half closed, refused, and their ends. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { beforeAll, expect, it } from 'vitest';
import { isOlderKubectl, rounds } from '../support/tier.ts';
import { describeWith } from '../support/tools.ts';
import { much, Noise, sumUp, zeros } from './bytes.ts';
import { portOf, portServer, unusedPort } from './port-server.ts';
import { type Command, podOf, useRunningCluster } from './running.ts';

const cluster = useRunningCluster();
let target = 0;
let forwarding: Command;
let local = 0;

beforeAll(async () => {
  await cluster.run(podOf('server', portServer()));
  target = await portOf(cluster, 'server');
  [forwarding, local] = await forward('pod/server', target);
});

/** Forwards a free local port. */
async function forward(to: string, port: number): Promise<[Command, number]> {
  const command = cluster.command('port-forward', to, `:${port}`);
  const [, chosen] = await command.until(/Forwarding from 127\.0\.0\.1:(\d+) -> /);
  command.stdout.resume();
  return [command, Number(chosen)];
}

/** A connection that has sent its request line. */
async function wish(wanted: string, port = local): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(`${wanted}\n`);
  return socket;
}

/** Sends a word, ends, and reads until the other side ends. */
async function talk(word: string): Promise<string> {
  const socket = await wish('echo');
  socket.end(word);
  return text(socket);
}

const ofNewest = it.skipIf(isOlderKubectl /* What others do with this version speaks the same protocol. */);

describeWith('kubectl')('a forwarded port', () => {
  it('serves 100 connections at once', async () => {
    const words = Array.from({ length: 100 }, (_, index) => `connection ${index} `.repeat(100));
    const sockets = await Promise.all(words.map(() => wish('echo')));
    // All are open now; none may get another's bytes.
    const heard = sockets.map((socket, index) => {
      socket.end(words[index]!);
      return text(socket);
    });
    expect(await Promise.all(heard)).toEqual(words);
  });

  ofNewest('serves hundreds of connections, 8 at a time', async () => {
    const words = Array.from({ length: rounds(1_500) }, (_, index) => `word ${index}`);
    const heard: string[] = [];
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let index = next++; index < words.length; index = next++) heard[index] = await talk(words[index]!);
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    expect(heard).toEqual(words);
  });

  ofNewest('carries much down', async () => {
    expect(await sumUp(await wish(`zeros ${much}`))).toEqual(await zeros(much));
  });

  ofNewest('carries much up, and an answer after the end of it', async () => {
    const socket = await wish('sum');
    const noise = new Noise(much);
    const [sum] = await Promise.all([text(socket), pipeline(noise, socket)]);
    expect(sum).toBe(noise.sum.sha256);
  });

  it('carries much both ways at once', async () => {
    const socket = await wish('echo');
    const noise = new Noise(much);
    const [sum] = await Promise.all([sumUp(socket), pipeline(noise, socket)]);
    expect(sum).toEqual(noise.sum);
  });

  it('ends a connection that the server cuts, and no other', async () => {
    const other = await wish('echo');
    const cut = await wish('cut');
    expect(await text(cut).catch(() => '')).toBe('');
    other.end('still here');
    expect(await text(other)).toBe('still here');
  });

  ofNewest('is found by the name of a service, too', async () => {
    const spec = { selector: { app: 'server' }, ports: [{ port: 7000, targetPort: target }] };
    await cluster.client.post('/api/v1/namespaces/default/services', { metadata: { name: 'entry' }, spec });
    const [command, port] = await forward('service/entry', 7000);
    const socket = await wish('echo', port);
    socket.end('through the service');
    expect(await text(socket)).toBe('through the service');
    await command.end();
  });

  it('that nobody listens on says so, and leaves the session to others', async () => {
    // A port that was free a moment ago.
    const free = await unusedPort();
    const [command, port] = await forward('pod/server', free);
    const socket = connect({ host: '127.0.0.1', port }).on('error', () => undefined);
    expect(await text(socket).catch(() => '')).toBe('');
    command.kill('SIGINT');
    expect(await command.complaints).toMatch(
      new RegExp(
        `an error occurred forwarding ${port} -> ${free}: error forwarding port ${free} to pod .*: .*refused`,
      ),
    );
    expect(await talk('undisturbed')).toBe('undisturbed');
  });

  ofNewest('is refused for a pod that does not run', async () => {
    await cluster.client.post(
      '/api/v1/namespaces/default/pods',
      podOf('nowhere', portServer(), { nodeSelector: { a: 'b' } }),
    );
    const { code, stderr } = await cluster.kubectl.try('port-forward', 'pod/nowhere', ':80');
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('pod is not running') });
    expect((await cluster.kubectl.try('port-forward', 'pod/nobody', ':80')).stderr).toContain(
      '"nobody" not found',
    );
  });

  ofNewest('is lost when its pod goes, and its connections with it', async () => {
    const socket = await wish('echo');
    const end = once(socket, 'close');
    socket.resume().write('x');
    await once(socket, 'data');
    await cluster.kubectl.run('delete', 'pod', 'server', '--wait=false');
    socket.end();
    await end;
    await forwarding.exited;
    expect(await forwarding.complaints).toContain('lost connection to pod');
  });
});
