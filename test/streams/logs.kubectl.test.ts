/** Proves that `kubectl logs` shows the output of containers: every flag, every run, exactly to the end. */
import { beforeAll, expect, it } from 'vitest';
import { describeWith } from '../support/tools.ts';
import { hasEnded, isReady, podOf, podsPath, shell, useRunningCluster } from './running.ts';

const cluster = useRunningCluster();
const logs = (...args: string[]) => cluster.kubectl.run('logs', ...args);
const never = { restartPolicy: 'Never' };

/** Its volume survives the failed run. */
const failingOnce = `
  notes=/notes; [ -d $notes ] || notes=$PWD/notes
  if [ -e $notes/ran ]; then echo second; exec sleep 1000; fi
  touch $notes/ran; echo first; exit 1`;

beforeAll(async () => {
  await Promise.all([
    cluster.run(podOf('five', shell('for i in 1 2 3 4 5; do echo line $i; done'), never), hasEnded),
    cluster.run(
      podOf(
        'both',
        [
          shell('echo out; echo err >&2; exec sleep 1000', { name: 'a' }),
          shell('echo other; exec sleep 1000', { name: 'b' }),
        ],
        { initContainers: [shell('echo first', { name: 'init' })] },
      ),
    ),
    cluster.run(
      podOf('again', shell(failingOnce, { volumeMounts: [{ name: 'notes', mountPath: '/notes' }] }), {
        volumes: [{ name: 'notes', emptyDir: {} }],
      }),
      (pod) => isReady(pod) && pod.status?.containerStatuses?.[0]?.restartCount === 1,
    ),
  ]);
});

describeWith('kubectl')('a log', () => {
  it('is what was written', async () => {
    expect(await logs('five')).toBe('line 1\nline 2\nline 3\nline 4\nline 5\n');
  });

  it('holds both outputs', async () => {
    await expect
      .poll(async () => (await logs('both', '-c', 'a')).split('\n').sort())
      .toEqual(['', 'err', 'out']);
  });

  it('is cut by number of lines, and by bytes', async () => {
    expect(await logs('five', '--tail=2')).toBe('line 4\nline 5\n');
    expect(await logs('five', '--tail=0')).toBe('');
    expect(await logs('five', '--limit-bytes=10')).toBe('line 1\nlin');
    expect(await logs('five', '--tail=2', '--limit-bytes=8')).toBe('line 4\nl');
  });

  it('has times, and is cut by them', async () => {
    const lines = (await logs('five', '--timestamps')).trimEnd().split('\n');
    expect(lines).toHaveLength(5);
    for (const line of lines)
      expect(line).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}(Z|[+-]\d\d:\d\d) line \d$/);
    const times = lines.map((line) => line.split(' ')[0]!);
    expect(times).toEqual([...times].sort());
    const [before, after] = [-10_000, 10_000].map((ms) => new Date(Date.parse(times[0]!) + ms).toISOString());
    expect(await logs('five', `--since-time=${before}`)).toContain('line 1\n');
    expect(await logs('five', `--since-time=${after}`)).toBe('');
    expect(await logs('five', '--since=10m', '--tail=1')).toBe('line 5\n');
    const both = await cluster.kubectl.try('logs', 'five', '--since=10m', `--since-time=${before}`);
    expect(both.stderr).toContain('at most one of');
  });

  it('is that of the container that is named, of init containers too, and of all', async () => {
    expect(await logs('both', '-c', 'b')).toBe('other\n');
    expect(await logs('both', '-c', 'init')).toBe('first\n');
    const all = (await logs('both', '--all-containers', '--prefix')).trimEnd().split('\n').sort();
    expect(all).toEqual([
      '[pod/both/a] err',
      '[pod/both/a] out',
      '[pod/both/b] other',
      '[pod/both/init] first',
    ]);
    expect(await logs('-l', 'app=five', '--tail=1')).toBe('line 5\n');
  });

  it('of the run before is kept', async () => {
    expect(await logs('again', '--previous')).toBe('first\n');
    expect(await logs('again', '--previous', '-f')).toBe('first\n');
    await expect.poll(() => logs('again')).toBe('second\n');
    const none = await cluster.kubectl.try('logs', 'both', '-c', 'a', '--previous');
    expect(none).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('previous terminated container "a" in pod "both" not found'),
    });
  });

  it('is refused in words', async () => {
    const refusal = async (...args: string[]) => (await cluster.kubectl.try('logs', ...args)).stderr;
    expect(await refusal('nobody')).toContain('pods "nobody" not found');
    expect(await refusal('both', '-c', 'c')).toContain('container c is not valid for pod both');
    const { status, body } = await cluster.client.get(`${podsPath}/both/log`);
    expect({ status, message: body.message }).toEqual({
      status: 400,
      message: 'a container name must be specified for pod both, choose one of: [init a b]',
    });
  });

  it('of a container that waits says for what', async () => {
    const image = { name: 'main', image: 'registry.invalid/nothing/such-a-program:1' };
    await cluster.run(
      podOf('waiting', image),
      (pod) => !!pod.status?.containerStatuses?.[0]?.state?.waiting?.reason?.includes('Pull'),
    );
    expect((await cluster.kubectl.try('logs', 'waiting')).stderr).toMatch(
      /container "main" in pod "waiting" is waiting to start: (image can't be pulled|trying and failing to pull image)/,
    );
  });

  it('of a pod without a node is empty', async () => {
    await cluster.client.post(podsPath, podOf('nowhere', shell('true'), { nodeSelector: { no: 'node' } }));
    expect(await logs('nowhere')).toBe('');
  });

  it('of many megabytes is whole, with parts of lines and lines without end', async () => {
    // 20 MB in lines of 100 kB, and a last one without a line end.
    const script = 'head -c 19999800 /dev/zero | tr "\\\\0" x | fold -b -w 99999; echo; printf last';
    await cluster.run(podOf('long', shell(script), never), hasEnded);
    const command = cluster.command('logs', 'long');
    let [bytes, ends, tail] = [0, 0, ''];
    for await (const chunk of command.stdout as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) ends++;
      tail = (tail + chunk.subarray(-5).toString()).slice(-5);
    }
    expect({ bytes, ends, tail }).toEqual({ bytes: 20_000_004, ends: 200, tail: '\nlast' });
  });
});

describeWith('kubectl')('a log that is followed', () => {
  /** A pod that writes a line for each line of input, and ends on request. */
  const teller = (name: string) =>
    podOf(
      name,
      shell('echo begin; while read -r word; do echo $word; [ $word = end ] && exit 0; done', {
        stdin: true,
      }),
      never,
    );

  it('shows lines as they come, and ends with the container', async () => {
    await cluster.run(teller('tell'));
    const follower = cluster.command('logs', '-f', 'tell');
    await follower.until(/begin\n/);
    const tell = cluster.command('attach', '-i', 'tell');
    tell.stdin.write('more\n');
    await follower.until(/more\n/);
    tell.stdin.write('end\n');
    await follower.until(/end\n/);
    expect(await follower.exited).toEqual({ code: 0, signal: null });
    expect(await tell.exited).toEqual({ code: 0, signal: null });
    expect(await logs('-f', 'tell')).toBe('begin\nmore\nend\n');
  });

  it('begins where it is told to', async () => {
    await cluster.run(teller('late'));
    await expect.poll(() => logs('late')).toBe('begin\n');
    const follower = cluster.command('logs', '-f', '--tail=0', 'late');
    let shown = '';
    follower.stdout.on('data', (chunk) => {
      shown += chunk;
    });
    const tell = cluster.command('attach', '-i', 'late');
    // Its output is the only sign that following has begun.
    await expect
      .poll(
        () => {
          tell.stdin.write('more\n');
          return shown;
        },
        { timeout: 60_000 },
      )
      .toContain('more\n');
    tell.stdin.write('end\n');
    expect(await follower.exited).toEqual({ code: 0, signal: null });
    expect(shown).toMatch(/^(more\n)+end\n$/);
    await tell.exited;
  });

  it('ends with a pod that is deleted', async () => {
    await cluster.run(podOf('doomed', shell('echo here; exec sleep 1000')));
    const follower = cluster.command('logs', '-f', 'doomed');
    await follower.until(/here\n/);
    await cluster.kubectl.run('delete', 'pod', 'doomed');
    expect(await follower.exited).toEqual({ code: 0, signal: null });
  });
});
