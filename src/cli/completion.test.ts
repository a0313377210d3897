/** Proves what a shell is answered when it asks how a command line goes on. */
import { describe, expect, it } from 'vitest';
import { commands } from '../cluster/options/option.ts';
import { completionText } from './completion.ts';

async function completed(...words: string[]): Promise<{ words: string[]; shell: string }> {
  const lines = (await completionText({ command: '__complete', words })).trimEnd().split('\n');
  return { shell: lines.at(-1)!, words: lines.slice(0, -1).map((line) => line.split('\t')[0]!) };
}

describe('what is completed', () => {
  it.each<[string[], string[], string]>([
    [['s'], ['status', 'stop', 'snapshot', 'serve'], ':plain'],
    [['up', '--log-level', 'd'], ['debug'], ':plain'],
    [['up', '--log-level=d'], ['--log-level=debug'], ':plain'],
    [['up', '--in-memory', '--log-le'], ['--log-level'], ':plain'],
    [['up', '--controllers', 'jo'], ['job'], ':nospace'],
    [['up', '--controllers', 'job,cron'], ['job,cronjob'], ':nospace'],
    [['up', '--controllers=-jo'], ['--controllers=-job'], ':nospace'],
    [['up', '--allow-privileged=f'], ['--allow-privileged=false'], ':plain'],
    [['up', '--allow-privileged', '--log-le'], ['--log-level'], ':plain'],
    [['serve', '--authorization-mode', 'Node,R'], ['Node,RBAC'], ':nospace'],
    [['up', '--runtime', 'd'], ['docker'], ':plain'],
    [['up', '--images', ''], [], ':files'],
    [['up', '--data-dir=x'], [], ':folders'],
    [['up', '--port', ''], [], ':plain'],
    [['up', '--data-dir', 'up', '--log-le'], ['--log-level'], ':plain'],
    [['--log-level', 'info', 'up', '--in-m'], ['--in-memory'], ':plain'],
    [['up', ''], [], ':plain'],
    [['backup', ''], [], ':files'],
    [['backup', 'file', ''], [], ':plain'],
    [['envtest', ''], [], ':folders'],
    [['envtest', '--st'], ['--store'], ':plain'],
    [['token', 'l'], ['list'], ':plain'],
    [['token', 'list', ''], [], ':plain'],
    [['completion', '--empty-word'], ['bash', 'zsh', 'fish', 'powershell'], ':plain'],
    [['help', 'kube'], ['kubeconfig'], ':plain'],
    [['-'], ['--help', '--help-all', '--version'], ':plain'],
    [['test', '--in-m'], [], ':plain'],
    [['test', '--', 'ma'], [], ':files'],
    [['up', '--nothing=x'], [], ':plain'],
    [['nothing', ''], [...commands], ':plain'],
    [['up', '--constructor', ''], [], ':plain'],
  ])('%j: %j and %s', async (given, words, shell) => {
    expect(await completed(...given)).toEqual({ words, shell });
  });

  it('are all commands, with what they do, when nothing is typed', async () => {
    expect((await completed('')).words).toEqual([...commands]);
    expect((await completed()).words).toEqual([...commands]);
    expect(await completionText({ command: '__complete', words: ['u'] })).toBe(
      'up\trun the cluster: API server, controllers, and this machine as a node\n:plain\n',
    );
  });

  it('are flags once, and those that may be repeated again', async () => {
    const before = ['up', '--port', '1', '--tls-san', 'a', '--data-dir=x'];
    const { words } = await completed(...before, '--');
    expect(words).toContain('--tls-san');
    expect(words).not.toContain('--port');
    expect(words).not.toContain('--data-dir');
    expect((await completed('up', '--')).words).toContain('--data-dir');
  });
});
