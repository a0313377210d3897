/** Proves that `kubectl exec` runs commands in pods: exit codes, streams, large data, refusals, and no leftovers. */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { beforeAll, expect, it } from 'vitest';
import { isOlderKubectl, rounds } from '../support/tier.ts';
import { describeWith } from '../support/tools.ts';
import { megabyte, much, Noise, sumUp, zeros } from './bytes.ts';
import { agentOf, podOf, podsPath, processesOf, shell, useRunningCluster, withFolder } from './running.ts';

const cluster = useRunningCluster();
const exec = (...args: string[]) => cluster.kubectl.try('exec', ...args);
const sleeper = 'exec sleep 1000';

beforeAll(async () => {
  await Promise.all([
    cluster.run(withFolder(cluster.folder, podOf('one', shell(sleeper)))),
    cluster.run(podOf('two', [shell(sleeper, { name: 'a' }), shell(sleeper, { name: 'b' })])),
  ]);
});

const ofNewest = it.skipIf(isOlderKubectl /* What others do with this version speaks the same protocol. */);

describeWith('kubectl')('a command', () => {
  it('ends kubectl with its own code', async () => {
    // Exit codes of success, failure, and a program that the shell does not find.
    for (const [script, code] of [
      ['exit 0', 0],
      ['exit 3', 3],
      ['no-such-program', 127],
    ] as const)
      expect(await exec('one', '--', 'sh', '-c', script)).toMatchObject({ code });
  });

  it('has two outputs, which stay apart, and a code', async () => {
    expect(await exec('one', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7')).toEqual({
      code: 7,
      stdout: 'out\n',
      stderr: 'err\ncommand terminated with exit code 7\n',
    });
  });

  it('killed by a signal ends as in a shell', async () => {
    expect(await exec('one', '--', 'sh', '-c', 'kill -9 $$')).toMatchObject({ code: 137 });
  });

  it('gets its arguments as they are', async () => {
    const args = ['a b', '', '$HOME', '*', 'ü\n', '-x', '--', "'"];
    const { stdout } = await exec('one', '--', 'printf', '[%s]', ...args);
    expect(stdout).toBe(args.map((arg) => `[${arg}]`).join(''));
  });

  it('without input reads nothing, and ends', async () => {
    expect(await exec('one', '--', 'cat')).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('gets its input and the end of it', async () => {
    const cat = cluster.command('exec', '-i', 'one', '--', 'cat');
    cat.stdin.end('abc\n');
    expect((await cat.until(/^abc\n$/))[0]).toBe('abc\n');
    expect(await cat.exited).toEqual({ code: 0, signal: null });
  });

  it('runs in the container that is named, or the first', async () => {
    const mark = 'echo $WHERRY_CONTAINER';
    expect((await exec('two', '-c', 'b', '--', 'sh', '-c', mark)).stdout).toMatch(/\/b\n$/);
    const { stdout, stderr } = await exec('two', '--', 'sh', '-c', mark);
    expect(stdout).toMatch(/\/a\n$/);
    expect(stderr).toEqual(
      cluster.kubectl.wording({
        '1.20': /^Defaulting container name to a\.$/m,
        '1.32': /^Defaulted container "a" out of: a, b$/m,
      }),
    );
  });

  ofNewest('ends with its pod, and not well', async () => {
    await cluster.run(podOf('doomed', shell(sleeper)));
    const command = cluster.command('exec', 'doomed', '--', 'sh', '-c', 'echo begin; exec sleep 1000');
    await command.until(/begin/);
    await cluster.kubectl.run('delete', 'pod', 'doomed');
    expect(await command.exited).toEqual({ code: 137, signal: null });
  });
});

describeWith('kubectl')('much data', () => {
  it('comes back from cat as it was', async () => {
    const cat = cluster.command('exec', '-i', 'one', '--', 'cat');
    const noise = new Noise(much);
    const [sum] = await Promise.all([sumUp(cat.stdout), pipeline(noise, cat.stdin)]);
    expect(sum).toEqual(noise.sum);
    expect(await cat.exited).toEqual({ code: 0, signal: null });
  });

  ofNewest('comes out whole', async () => {
    const head = cluster.command('exec', 'one', '--', 'head', '-c', String(much), '/dev/zero');
    expect(await sumUp(head.stdout)).toEqual(await zeros(much));
    expect(await head.exited).toEqual({ code: 0, signal: null });
  });

  ofNewest('goes in whole', async () => {
    const digest = cluster.command('exec', '-i', 'one', '--', 'sha256sum');
    const noise = new Noise(much);
    const [[, said]] = await Promise.all([digest.until(/^(\w{64}) /), pipeline(noise, digest.stdin)]);
    expect(said).toBe(noise.sum.sha256);
    expect(await digest.exited).toEqual({ code: 0, signal: null });
  });

  ofNewest('written just before the end is complete, many times', async () => {
    const whole = await zeros(300_000);
    // A few at a time: closing too early would lose a different part each time.
    for (let runs = 0; runs < rounds(25); runs += 8)
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          const head = cluster.command('exec', 'one', '--', 'head', '-c', '300000', '/dev/zero');
          expect(await sumUp(head.stdout)).toEqual(whole);
          expect(await head.exited).toEqual({ code: 0, signal: null });
        }),
      );
  });

  ofNewest('that nobody reads holds up neither output nor end', async () => {
    const idle = cluster.command('exec', '-i', 'one', '--', 'sh', '-c', 'echo begin; echo end; exit 4');
    const sent = pipeline(new Noise(32 * 1024 * 1024), idle.stdin).catch(() => undefined);
    await idle.until(/begin\nend\n/);
    expect(await idle.exited).toEqual({ code: 4, signal: null });
    await sent;
  });
});

describeWith('kubectl')('refused is a command', () => {
  it('whose program is not there', async () => {
    expect(await exec('one', '--', 'no-such-program')).toMatchObject({
      code: 127,
      stderr: expect.stringContaining('no-such-program'),
    });
  });

  ofNewest('for a container or pod that is not there, or not chosen, or nowhere', async () => {
    await cluster.client.post(podsPath, podOf('nowhere', shell(sleeper), { nodeSelector: { a: 'b' } }));
    expect((await exec('one', '-c', 'zwei', '--', 'true')).stderr).toContain(
      'container zwei is not valid for pod one',
    );
    expect((await exec('zero', '--', 'true')).stderr).toContain('pods "zero" not found');
    expect((await exec('nowhere', '--', 'true')).stderr).toContain(
      'pod nowhere does not have a host assigned',
    );
    const { status, body } = await cluster.client.post(`${podsPath}/two/exec?command=true`, undefined);
    expect({ status, message: body.message }).toEqual({
      status: 400,
      message: 'a container name must be specified for pod two, choose one of: [a b]',
    });
  });

  ofNewest('in a pod that is over', async () => {
    await cluster.run(
      podOf('over', shell('true'), { restartPolicy: 'Never' }),
      (pod) => pod.status?.phase === 'Succeeded',
    );
    const { code, stderr } = await exec('over', '--', 'true');
    expect(code).toBe(1);
    expect(stderr).toContain('cannot exec into a container in a completed pod');
  });
});

describeWith('kubectl')('a client that is gone', () => {
  it('takes a command that writes with it', async () => {
    const yes = cluster.command('exec', 'one', '--', 'yes', 'a-word-of-its-own');
    await yes.until(/a-word/);
    const running = () =>
      processesOf(agentOf(cluster.folder)).filter((it) => it.includes('a-word-of-its-own'));
    expect(running()).toHaveLength(1);
    yes.kill('SIGKILL');
    await expect.poll(running).toEqual([]);
  });

  ofNewest('takes a command that reads with it', async () => {
    const cat = cluster.command('exec', '-i', 'one', '--', 'cat', '-', '/dev/null');
    cat.stdin.write('x\n');
    await cat.until(/x\n/);
    const running = () => processesOf(agentOf(cluster.folder)).filter((it) => it.includes('cat - /dev/null'));
    expect(running()).toHaveLength(1);
    cat.kill('SIGKILL');
    await expect.poll(running).toEqual([]);
  });
});

describeWith('kubectl')('kubectl cp', () => {
  ofNewest('copies files and folders to a pod and back, as they were', async () => {
    const [there, back, inside] = ['there', 'back', 'inside'].map((name) => path.join(cluster.folder, name));
    await mkdir(path.join(there!, 'deep', 'empty'), { recursive: true });
    await mkdir(inside!);
    await writeFile(path.join(there!, 'text with blanks'), 'some text\n', { mode: 0o751 });
    const noise = new Noise(10 * megabyte);
    await pipeline(noise, createWriteStream(path.join(there!, 'deep', 'noise')));
    await cluster.kubectl.run('cp', there!, `one:${inside}/copied`);
    await cluster.kubectl.run('cp', `one:${inside}/copied`, back!);
    expect(await readFile(path.join(back!, 'text with blanks'), 'utf8')).toBe('some text\n');
    // kubectl itself creates files without applying their modes.
    expect((await stat(path.join(inside!, 'copied', 'text with blanks'))).mode & 0o777).toBe(0o751);
    expect((await stat(path.join(back!, 'deep', 'empty'))).isDirectory()).toBe(true);
    expect(await sumUp(createReadStream(path.join(back!, 'deep', 'noise')))).toEqual(noise.sum);
  });
});
