/**
 * Proves that kubectl works over TLS with a certificate and with a token, for a user who may edit one namespace, and that
 * one without rights is refused the same commands.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { credentials, kubeconfigOf, type Person, useSharedCluster } from '../access/people.ts';
import { isRelease } from '../support/tier.ts';
import { describeWith } from '../support/tools.ts';

const { cluster, port } = useSharedCluster();

describeWith('kubectl')('kubectl', () => {
  describe.each(credentials)('with a %s', (by) => {
    const fileOf = (person: Person): string => path.join(cluster.folder, `${person}-${by}`);
    const as = (person: Person, ...args: string[]) => ['--kubeconfig', fileOf(person), ...args];
    const attempt = (person: Person, ...args: string[]) => cluster.kubectl.try(...as(person, ...args));

    beforeAll(async () => {
      for (const person of ['alice', 'eve'] as const)
        await writeFile(fileOf(person), kubeconfigOf(cluster.cluster, person, by));
    });

    it('reads, watches and changes what the user may', async () => {
      expect((await attempt('alice', 'get', 'pods')).stdout).toMatch(/server +1\/1 +Running/);
      const watch = cluster.command(...as('alice', 'get', 'configmaps', '--watch', '-o', 'name'));
      expect(await attempt('alice', 'create', 'configmap', `by-${by}`)).toMatchObject({ code: 0 });
      await watch.until(new RegExp(`configmap/by-${by}`));
      await watch.end();
      const refused = await attempt('alice', 'get', 'nodes');
      expect(refused.code).toBe(1);
      expect(refused.stderr).toContain('nodes is forbidden: User "alice" cannot list resource "nodes"');
    });

    it('runs commands: codes, outputs and input', async () => {
      const said = await attempt(
        'alice',
        'exec',
        'teller',
        '--',
        'sh',
        '-c',
        'echo out; echo err >&2; exit 3',
      );
      expect(said).toMatchObject({ code: 3, stdout: 'out\n', stderr: expect.stringContaining('err\n') });
      const cat = cluster.command(...as('alice', 'exec', '-i', 'teller', '--', 'cat'));
      cat.stdin.end('through the door\n');
      await cat.until(/through the door\n/);
      expect((await cat.exited).code).toBe(0);
    });

    it('follows logs', async () => {
      const logs = cluster.command(...as('alice', 'logs', '-f', '--tail=1', 'teller'));
      const [, first] = await logs.until(/^line (\d+)\n/);
      await logs.until(new RegExp(`line ${Number(first) + 3}\n`));
      await logs.end();
    });

    it('forwards ports', async () => {
      const forward = cluster.command(...as('alice', 'port-forward', 'pod/server', `:${port()}`));
      const [, local] = await forward.until(/127\.0\.0\.1:(\d+) ->/);
      forward.stdout.resume();
      const socket = connect(Number(local), '127.0.0.1');
      socket.end('echo\nover the wire');
      expect(await text(socket)).toBe('over the wire');
      await forward.end();
    });

    it.runIf(isRelease || by === 'token')('copies files to a pod and back', async () => {
      const [there, inside, back] = ['there', 'inside', 'back'].map((name) =>
        path.join(cluster.folder, `${name}-${by}`),
      ) as [string, string, string];
      await mkdir(inside);
      await writeFile(there, 'some text');
      expect(await attempt('alice', 'cp', there, `teller:${inside}/copied`)).toMatchObject({ code: 0 });
      expect(await attempt('alice', 'cp', `teller:${inside}/copied`, back)).toMatchObject({ code: 0 });
      expect(await readFile(back, 'utf8')).toBe('some text');
    });

    const refusals: [string[], string][] = [
      [['get', 'pods'], 'cannot list resource "pods"'],
      [['get', 'configmaps', '--watch'], 'cannot list resource "configmaps"'],
      [['create', 'configmap', 'never'], 'cannot create resource "configmaps"'],
      // kubectl reads the pod before each of these.
      [['exec', 'teller', '--', 'true'], 'cannot get resource "pods"'],
      [['logs', '-f', 'teller'], 'cannot get resource "pods"'],
      [['port-forward', 'pod/server', ':80'], 'cannot get resource "pods"'],
      [['cp', 'teller:/etc/hostname', '/dev/null'], 'cannot get resource "pods"'],
    ];
    // The certificate shows the same person: with `npm test` one command of each sort.
    it.each(isRelease || by === 'token' ? refusals : refusals.slice(0, 1))(
      'is refused %j for one who may nothing',
      async (args, says) => {
        const { code, stdout, stderr } = await attempt('eve', ...args);
        expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
        expect(stderr).toContain(`User "eve" ${says}`);
      },
    );
  });

  it('with a token that is not known is refused, not anonymous', async () => {
    const file = path.join(cluster.folder, 'unknown');
    const config = JSON.parse(kubeconfigOf(cluster.cluster, 'eve', 'token'));
    config.users[0].user.token = 'made-up';
    await writeFile(file, JSON.stringify(config));
    const { code, stderr } = await cluster.kubectl.try('--kubeconfig', file, 'get', 'pods');
    expect(code).toBe(1);
    expect(stderr).toContain('You must be logged in to the server');
  });
});
