/** Proves that command lines are completed in the shells that are installed: keys are typed at a terminal. */
import { spawn } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { command, useChildren } from '../support/child.ts';
import { isRelease } from '../support/tier.ts';
import { describeWith } from '../support/tools.ts';

const patienceMs = 60_000;
const children = useChildren();

/** How a shell is started without the files of its user, and how it reads the script. */
const shells = {
  bash: { start: 'bash --noprofile --norc -i', reads: 'source <(wherry completion bash)' },
  zsh: { start: 'zsh -f -i', reads: 'autoload -Uz compinit; compinit -D; source <(wherry completion zsh)' },
  fish: { start: 'fish --no-config -i', reads: 'wherry completion fish | source' },
} as const;

/** A shell at a terminal, in a folder with a program `wherry` that prints its words instead of running. */
async function typedInto(shell: keyof typeof shells) {
  const folder = await children.folder();
  await mkdir(join(folder, 'my-data'));
  await writeFile(join(folder, 'my-images.yaml'), '');
  const program = join(folder, 'wherry');
  const text = `#!/bin/sh
case "$1" in
  completion | __complete) exec "${process.execPath}" "${command}" "$@" ;;
  *) echo "ran<$*>" ;;
esac
`;
  await writeFile(program, text);
  await chmod(program, 0o755);
  const { start, reads } = shells[shell];
  const child = spawn('script', ['-qfc', start, '/dev/null'], {
    cwd: folder,
    env: {
      ...process.env,
      PATH: `${folder}:${process.env.PATH}`,
      TERM: 'dumb',
      HOME: folder,
      // With compiled code a question takes half the time.
      XDG_CACHE_HOME: process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  let wake = (): void => undefined;
  child.stdout.setEncoding('utf8').on('data', (data: string) => {
    output += data;
    wake();
  });
  /** Awaits what a line of the output says between two marks, and forgets all output. */
  const printed = async (begin: string, end: string): Promise<string> => {
    const late = new Promise<never>((_, reject) => {
      setTimeout(() => reject(new Error(`nothing was printed: ${output}`)), patienceMs).unref();
    });
    for (;;) {
      const from = output.indexOf(begin) + begin.length;
      const to = output.indexOf(end, from);
      if (from >= begin.length && to >= 0) {
        const said = output.slice(from, to);
        output = '';
        return said;
      }
      await Promise.race([late, new Promise<void>((resolve) => (wake = resolve))]);
    }
  };
  const type = (keys: string): void => void child.stdin.write(keys);
  type(`${reads}; echo "<""read>"\n`);
  await printed('<read', '>');
  return {
    type,
    printed,
    end: async () => {
      type('exit\n');
      await new Promise((resolve) => child.on('close', resolve));
    },
  };
}

const lines = [
  ['wherry ser\t--log-lev\tde\t', 'serve --log-level debug'],
  ['wherry up --images my-i\t--data-dir my-d\t', 'up --images my-images.yaml --data-dir my-data'],
  ['wherry up --log-level=de\t', 'up --log-level=debug'],
  ['wherry up --controllers=job,cronj\t', 'up --controllers=job,cronjob'],
  ['wherry tok\tcr\t', 'token create'],
  ['wherry help kubec\t', 'help kubeconfig'],
] as const;

/** @param count of lines, from the first: the command answers every shell alike, so one shell types all in `npm test` */
async function expectCompletion(shell: keyof typeof shells, count: number = lines.length): Promise<void> {
  const { type, printed, end } = await typedInto(shell);
  for (const [keys, words] of lines.slice(0, count)) {
    type(`${keys}\n`);
    // Some shells leave a slash behind a folder.
    expect((await printed('ran<', '>')).replace(/\/$/, '')).toBe(words);
  }
  await end();
}

const title = 'completes commands, flags, values, files and folders';
const [bashCount, otherCount] = isRelease ? [lines.length, lines.length] : [3, 1];

it(`bash ${title}`, () => expectCompletion('bash', bashCount), patienceMs * 2);

describeWith('zsh')('zsh', () => {
  it(title, () => expectCompletion('zsh', otherCount), patienceMs * 2);
});

describeWith('fish')('fish', () => {
  it(title, () => expectCompletion('fish', otherCount), patienceMs * 2);
});
