/** Proves that `kubectl exec -it` gives a real terminal, tested with a real one. */
import { beforeAll, expect, it } from 'vitest';
import { isOlderKubectl } from '../support/tier.ts';
import { describeWith } from '../support/tools.ts';
import { ctrlC, ctrlD, Terminal } from './pty.ts';
import { agentOf, podOf, processesOf, shell, useRunningCluster } from './running.ts';

const cluster = useRunningCluster();

beforeAll(async () => {
  await cluster.run(podOf('one', shell('exec sleep 1000')));
});

/** A shell in a terminal, at its first prompt. The terminal echoes input, so commands compute what they print. */
async function openShell(size?: { cols: number; rows: number }): Promise<Terminal> {
  const terminal = new Terminal(cluster, ['exec', '-it', 'one', '--', 'env', 'PS1=ready> ', 'sh'], size);
  await terminal.shows(/ready> /);
  return terminal;
}

const ofNewest = it.skipIf(isOlderKubectl /* What others do with this version speaks the same protocol. */);

describeWith('kubectl')('a terminal', () => {
  it('knows its size from the beginning, and follows changes', async () => {
    const terminal = await openShell({ cols: 111, rows: 22 });
    terminal.type('tty; stty size\r');
    await terminal.shows(/\/dev\/\S+\r\n22 111\r\n/);
    terminal.type('trap "stty size" WINCH; echo armed $((1 + 1))\r');
    await terminal.shows(/armed 2\r\n/);
    terminal.resize(77, 33);
    // A shell at its prompt runs traps only with the next line; what they print may stand behind the prompt.
    await expect
      .poll(async () => {
        terminal.type('\r');
        return terminal.screen;
      })
      .toMatch(/(?:\n|ready> )33 77\r\n/);
    terminal.type('exit\r');
    expect(await terminal.exited).toBe(0);
  });

  ofNewest('interrupts with Ctrl-C, and the shell goes on', async () => {
    const terminal = await openShell();
    // One process prints and then sleeps: a shell might miss a signal between two processes.
    terminal.type(`sh -c 'echo begin $((1 + 1)); exec sleep 1000'; echo never\r`);
    await terminal.shows(/begin 2\r\n/);
    terminal.type(ctrlC);
    await terminal.shows(/ready> /);
    terminal.type('echo after $?\r');
    await terminal.shows(/after 130\r\n/);
    expect(terminal.screen).not.toMatch(/\nnever/);
    terminal.type('exit\r');
    await terminal.exited;
  });

  it('ends a shell with Ctrl-D', async () => {
    const terminal = await openShell();
    terminal.type(ctrlD);
    expect(await terminal.exited).toBe(0);
  });

  it('shows standard error, and passes on the exit code', async () => {
    const terminal = await openShell();
    terminal.type('echo aside $((1 + 1)) >&2; exit 9\r');
    await terminal.shows(/aside 2\r\n/);
    expect(await terminal.exited).toBe(9);
    expect(terminal.screen).toContain('command terminated with exit code 9');
  });

  ofNewest('is hung up when its client is killed, and takes its children with it', async () => {
    const terminal = await openShell();
    terminal.type('sleep 4242\r');
    const sleeping = () => processesOf(agentOf(cluster.folder)).filter((it) => it.includes('sleep 4242'));
    await expect.poll(sleeping).toHaveLength(1);
    terminal.kill();
    await terminal.exited;
    await expect.poll(sleeping).toEqual([]);
  });

  ofNewest('passes much output whole', async () => {
    const terminal = await openShell();
    // The test's terminal may lose the last output, so something is printed after it.
    terminal.type('seq 1 20000; echo done; read -r key; exit 5\r');
    await terminal.shows(/\r\ndone\r\n/);
    terminal.type('\r');
    expect(await terminal.exited).toBe(5);
    const numbers = terminal.screen.match(/^\d+\r$/gm)!.map((line) => Number(line));
    expect(numbers.length).toBe(20_000);
    expect(numbers.every((number, index) => number === index + 1)).toBe(true);
  });
});
