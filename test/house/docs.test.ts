/**
 * Proves that the documents are consistent: links resolve, generated parts are current, the command accepts
 * the command lines, and the example programs print what the pages show.
 */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sections } from '../../src/cli/flag-sections.ts';
import { helpText } from '../../src/cli/help.ts';
import { readCommandLine } from '../../src/cli/options.ts';
import { flagsOf } from '../../src/cluster/options/option.ts';
import { apiServerFlags } from '../../src/envtest/apiserver-flags.ts';
import etcdFlags from '../../src/envtest/etcd-flags.json' with { type: 'json' };
import { isRelease } from '../support/tier.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const generateMaxMs = 300_000;
const help = helpText(undefined, true);

const layers = readdirSync(join(root, 'src'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => join('src', name));
const pages = ['.', 'docs', 'bench', 'web', ...layers].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => relative(root, join(root, folder, name))),
);
const textOf = (page: string): string => readFileSync(join(root, page), 'utf8');

interface Block {
  readonly language: string;
  readonly text: string;
}

const blocksOf = (page: string): Block[] =>
  [...textOf(page).matchAll(/^ *```(\w*)\n([\s\S]*?)^ *```$/gm)].map(([, language, text]) => ({
    language: language!,
    text: text!,
  }));

/** Anchors as GitHub generates them. */
const anchorsOf = (page: string): string[] =>
  [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

describe.each(pages)('%s', (page) => {
  it('has links that lead somewhere', () => {
    const prose = textOf(page).replace(/^ *```[\s\S]*?^ *```$/gm, '');
    for (const [, target] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https:/.test(target!)) continue;
      const [file, anchor] = target!.split('#') as [string, string?];
      const place = file ? join(dirname(page), file) : page;
      expect(existsSync(join(root, place)), target).toBe(true);
      if (anchor !== undefined) expect(anchorsOf(place), target).toContain(anchor);
    }
  });

  it('installs Wherry from a file, because it is in no registry', () => {
    const lines = textOf(page).match(/\bnpm (?:install|i|add|ci)\b[^\n`]*\swherry(?=[\s@`]|$)/gm) ?? [];
    expect(lines).toEqual([]);
  });

  it('names only options that `wherry --help-all` has', () => {
    for (const args of [...commandLines(page), ...mentions(page)])
      for (const option of ownArguments(args).filter((arg) => arg.startsWith('--')))
        expect(help, `wherry ${args.join(' ')}`).toMatch(
          new RegExp(`^  ${option.split('=')[0]}(?:[ ,]|$)`, 'm'),
        );
  });

  it('has command lines that the command accepts', () => {
    for (const args of commandLines(page)) expect(() => readCommandLine(args)).not.toThrow();
  });

  it('shows what the command answers to lines that it refuses', () => {
    for (const { args, says } of refusedLines(page)) expect(() => readCommandLine(args)).toThrow(says);
  });
});

/** Of the command, of the programs that stand in for others in test suites, and of tools that pages tell about. */
const knownFlags: ReadonlySet<string> = new Set([
  ...[...help.matchAll(/^ {2}--([a-z0-9-]+)/gm)].map(([, flag]) => flag!),
  ...apiServerFlags.map(({ name }) => name),
  ...etcdFlags.flags.map(({ name }) => name),
  ...['bump-revision', 'mark-compacted'],
]);

/** Without what is behind `--`: the arguments of another command. */
const ownArguments = (args: readonly string[]): readonly string[] =>
  args
    .join('\n')
    .split(/\n--(?:\n|$)/, 1)[0]!
    .split('\n');

/** How the answers to command lines begin that are wrong in themselves, whatever the machine is like. */
const refusal = String.raw`wherry: (?=there is no (?:command|option) |\S+ does not take |--\S+ needs a value)`;

/** Lines `wherry …` at a prompt, without those that are shown with their refusal. */
const commandLines = (page: string): string[][] =>
  blocksOf(page).flatMap(({ text }) =>
    argumentsOf([...text.matchAll(new RegExp(String.raw`^ *\$ (.*)$(?!\n *${refusal})`, 'gm'))]),
  );

const refusedLines = (page: string): { args: string[]; says: string }[] =>
  blocksOf(page).flatMap(({ text }) =>
    [...text.matchAll(new RegExp(String.raw`^ *\$ (wherry .*)\n *${refusal}(.*)$`, 'gm'))].map((match) => ({
      args: argumentsOf([match])[0]!,
      says: match[2]!,
    })),
  );

/** `wherry …` in a sentence, possibly incomplete. */
const mentions = (page: string): string[][] => argumentsOf([...textOf(page).matchAll(/`([^`\n]+)`/g)]);

/** `npm start -- …` means `wherry up …`. */
function argumentsOf(matches: readonly RegExpMatchArray[]): string[][] {
  return matches
    .map(([, line]) =>
      line!
        .replace(/\s+#.*$/, '')
        .replace(/^npm start --/, 'wherry up')
        .replace(/^npx /, ''),
    )
    .filter((line) => /^wherry \S/.test(line))
    .map((line) => line.split(/\s+/).slice(1));
}

describe('the documents', () => {
  it('are all in the index', () => {
    const index = textOf('docs/README.md');
    for (const name of readdirSync(join(root, 'docs')).filter((name) => name !== 'README.md'))
      expect(index).toContain(`(${name})`);
  });

  it.each(pages.filter((page) => page === 'README.md' || page.startsWith('docs/')))(
    '%s names only flags that there are',
    (page) => {
      const named = [...textOf(page).matchAll(/`--([a-z][a-z0-9-]*)[^`\n]*`/g)].map(([, flag]) => flag!);
      expect(named.filter((flag) => !knownFlags.has(flag))).toEqual([]);
    },
  );

  it('have every flag on the page of options, and no other', () => {
    const listed = new Set(
      [...textOf('docs/options.md').matchAll(/^ {2}--([a-z0-9-]+)/gm)].map(([, flag]) => flag!),
    );
    const flags = sections.flatMap(({ topics }) => topics).flatMap(flagsOf);
    expect(flags.length).toBeGreaterThan(100);
    expect(flags.map(({ flag }) => flag).filter((flag) => !listed.has(flag))).toEqual([]);
    expect([...listed].filter((flag) => !knownFlags.has(flag))).toEqual([]);
  });

  it('show many command lines, so that the checks above check something', () => {
    expect(pages.flatMap(refusedLines).length).toBeGreaterThan(3);
    expect(pages.flatMap(commandLines).length).toBeGreaterThan(20);
  });

  // package.release.test.ts looks at the reference in embedding.md, since it has the types.
  it(
    'have generated parts that are current',
    async () => {
      const some = ['docs/options.md', 'docs/compatibility.md'];
      await run(process.execPath, [join(root, 'scripts/generate-docs.mjs'), '--check', ...some]);
    },
    generateMaxMs,
  );
});

interface Program {
  readonly page: string;
  readonly name: string;
  readonly text: string;
  /** How the page runs it, and the output that the page shows. */
  readonly args: readonly string[];
  readonly prints: string;
}

/** A code block that starts with a file name, followed by one that runs it with Node. */
const programs: Program[] = pages.flatMap((page) => {
  const blocks = blocksOf(page);
  return blocks.flatMap(({ language, text }, i) => {
    const name = /^\/\/ (\S+)\n/.exec(text)?.[1];
    const [, args, prints] = /^\$ node (.*)\n([\s\S]*)$/.exec(blocks[i + 1]?.text ?? '') ?? [];
    if (language !== 'js' || !name || !args) return [];
    return [{ page, name, text, args: args.split(' '), prints: prints! }];
  });
});

/** With `npm test`: one of each sort; what the others show has tests of its own beside the kit and the package. */
const usualPrograms: ReadonlySet<string> = new Set(['library.mjs', 'lostnode.test.mjs']);

/** Replaces what differs from run to run, and what depends on the machine's network. */
const steady = (text: string): string =>
  text
    .replace(/^(?:Node|pod network|services:|hello from) .*$/gm, '…')
    .replace(/\d+/g, 'N')
    .trim();

describe('programs of the documents', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'wherry-docs-'));
    for (const name of ['wherry', '@kubernetes']) {
      await mkdir(join(folder, 'node_modules'), { recursive: true });
      const target = name === 'wherry' ? root : join(root, 'node_modules', name);
      await symlink(target, join(folder, 'node_modules', name), 'junction');
    }
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('are found', () => {
    expect(programs.map(({ name }) => name)).toEqual(
      expect.arrayContaining([...usualPrograms, 'first.mjs', 'first.cjs', 'same.mjs']),
    );
  });

  it.each(programs.filter(({ name }) => isRelease || usualPrograms.has(name)))(
    '$page: $name prints what the page says',
    async ({ name, text, args, prints }) => {
      await writeFile(join(folder, name), text);
      const { stdout } = await run(process.execPath, args, { cwd: folder });
      if (!prints.includes('…')) return expect(steady(stdout)).toBe(steady(prints));
      for (const line of prints.split('\n').filter((line) => line && line !== '…'))
        expect(steady(stdout)).toContain(steady(line));
    },
  );
});
