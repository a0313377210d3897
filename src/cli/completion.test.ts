/** Proves what a shell is answered when it asks how a command line goes on. */
import { describe, expect, it } from 'vitest';
import { shells } from '../cluster/options/commands.ts';
import { commands } from '../cluster/options/option.ts';
import { completionText } from './completion.ts';
import { completionScript } from './completion-scripts.ts';

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

/** What is open at the end of a script of PowerShell, or closed too early; texts and comments count as nothing. */
function unbalanced(script: string): string[] {
  const plain = script.replace(/"(?:`.|[^"`])*"|'(?:''|[^'])*'|#.*/g, '');
  const open: string[] = [];
  for (const [character] of plain.matchAll(/[()[\]{}"']/g)) {
    const opener = { ')': '(', ']': '[', '}': '{' }[character];
    if (opener === undefined) open.push(character);
    else if (open.pop() !== opener) return [character];
  }
  return open;
}

describe('the scripts', () => {
  it.each(shells)('%s asks this command, and says how it is read', (shell) => {
    const script = completionScript(shell);
    expect(script).toContain(' __complete ');
    expect(script).toContain(`wherry completion ${shell}`);
  });

  // PowerShell is not among the programs of the tests: its script is not run.
  it('powershell is balanced, and asks for the words that the other shells get', async () => {
    const script = completionScript('powershell');
    expect(unbalanced(script)).toEqual([]);
    expect(unbalanced(script.replace(/\}\n$/, ''))).toEqual(['{']);
    const placeholder = /\$words \+= '(--[\w-]+)'/.exec(script)![1]!;
    for (const before of [[], ['up'], ['completion'], ['token'], ['up', '--runtime']])
      expect(await completed(...before, placeholder)).toEqual(await completed(...before, ''));
    for (const kind of [':files', ':folders']) expect(script).toContain(`'${kind}'`);
  });
});
