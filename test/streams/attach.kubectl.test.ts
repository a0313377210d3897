/** Proves that `kubectl attach` connects to the main process of a container, and leaves it unchanged. */
import { it } from 'vitest';
import { describeWith } from '../support/tools.ts';
import { Terminal } from './pty.ts';
import { podOf, shell, useRunningCluster } from './running.ts';

const cluster = useRunningCluster();
const never = { restartPolicy: 'Never' };
/** Echoes its input, to both outputs alternately, until it is told to end. */
const parrot = `
  while read -r word; do
    echo "heard $word"; echo "noted $word" >&2
    [ "$word" = end ] && exit 5
  done
  echo "no more"; exec sleep 1000`;

describeWith('kubectl').concurrent('the streams of a container', () => {
  it('are shown to all, written by all, left by one, and end with the process', async ({ expect }) => {
    await cluster.run(podOf('parrot', shell(parrot, { stdin: true }), never));
    const first = cluster.command('attach', '-i', 'parrot');
    first.stdin.write('one\n');
    await first.until(/heard one\n/);
    // Output shows which clients are attached; earlier output is not repeated.
    const second = cluster.command('attach', '-i', 'parrot');
    second.stdin.write('two\n');
    await Promise.all([first.until(/heard two\n/), second.until(/heard two\n/)]);
    await first.end();
    expect(await first.complaints).toContain('noted one\n');
    second.stdin.write('end\n');
    await second.until(/heard end\n/);
    expect(await second.exited).toEqual({ code: 0, signal: null });
    expect(await second.complaints).not.toContain('noted one\n');
    const { status } = await cluster.until('parrot', (pod) => pod.status?.phase === 'Failed');
    expect(status!.containerStatuses![0]!.state!.terminated).toMatchObject({ exitCode: 5 });
  });

  it('stay open when a client ends its input, unless they are for one client', async ({ expect }) => {
    await Promise.all([
      cluster.run(podOf('open', shell(parrot, { stdin: true }), never)),
      cluster.run(podOf('once', shell(parrot, { stdin: true, stdinOnce: true }), never)),
    ]);
    for (const name of ['open', 'once']) {
      const command = cluster.command('attach', '-i', name);
      command.stdin.end('word\n');
      await command.until(name === 'once' ? /heard word\nno more\n/ : /heard word\n/);
      // The end of its input detaches a client, unless the container has stdinOnce.
      if (name === 'open') expect(await command.exited).toEqual({ code: 0, signal: null });
      else await command.end();
    }
    const later = cluster.command('attach', '-i', 'open');
    later.stdin.write('end\n');
    await later.until(/heard end\n/);
    expect(await later.exited).toEqual({ code: 0, signal: null });
  });

  it('are seen without taking part', async ({ expect }) => {
    await cluster.run(podOf('clock', shell('while :; do echo tick; sleep 0.1; done')));
    const watcher = cluster.command('attach', 'clock');
    await watcher.until(/tick\n/);
    await watcher.end();
    const none = await cluster.kubectl.try('attach', 'clock', '-c', 'other');
    const words = {
      '1.20': /container not found \(other\)/,
      '1.32': /container other not found in pod clock/,
    };
    expect(none).toMatchObject({ code: 1, stderr: cluster.kubectl.wording(words) });
  });

  it('end with a pod that is deleted', async () => {
    await cluster.run(podOf('doomed', shell(parrot, { stdin: true })));
    const command = cluster.command('attach', '-i', 'doomed');
    command.stdin.write('here\n');
    await command.until(/heard here/);
    await cluster.kubectl.run('delete', 'pod', 'doomed');
    await command.exited;
  });
});

describeWith('kubectl').concurrent('the terminal of a container', () => {
  it('is attached to, resized, left and found again', async ({ expect }) => {
    const script = 'while read -r word; do echo "got $word $(stty size)"; [ "$word" = end ] && exit 6; done';
    const pod = podOf('talk', shell(script, { stdin: true, tty: true }), { restartPolicy: 'Never' });
    await cluster.run(pod);
    const first = new Terminal(cluster, ['attach', '-it', 'talk'], { cols: 101, rows: 41 });
    await expect
      .poll(() => {
        first.type('hello\r');
        return first.screen;
      })
      .toContain('got hello 41 101\r\n');
    const second = new Terminal(cluster, ['attach', '-it', 'talk'], { cols: 90, rows: 20 });
    await second.shows(/press/);
    // Sizes and keys use different streams: the first key may be faster.
    await expect
      .poll(() => {
        second.type('there\r');
        return first.screen;
      })
      .toContain('got there 20 90\r\n');
    await second.shows(/got there 20 90\r\n/);
    first.kill();
    await first.exited;
    second.type('still\r');
    await second.shows(/got still/);
    second.type('end\r');
    await second.shows(/got end/);
    expect(await second.exited).toBe(0);
    const { status } = await cluster.until('talk', (it) => it.status?.phase === 'Failed');
    expect(status!.containerStatuses![0]!.state!.terminated).toMatchObject({ exitCode: 6 });
  });

  it('is there for `kubectl run -it --rm`, which cleans up after itself', async ({ expect }) => {
    const args = ['run', 'visit', '-it', '--rm', '--restart=Never', '--image=host', '--command', '--'];
    const terminal = new Terminal(cluster, [...args, 'env', 'PS1=ready> ', 'sh']);
    // Output from before the attach is only in the log; a new line prints a new prompt.
    await terminal.shows(/pressing enter|ready> /);
    terminal.type('\recho at $((40 + 2))\r');
    await terminal.shows(/at 42\r\n/);
    terminal.type('exit 0\r');
    expect(await terminal.exited).toBe(0);
    expect(terminal.screen).toContain('pod "visit" deleted');
    await cluster.untilGone('visit');
  });
});
