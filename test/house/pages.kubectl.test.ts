/**
 * Proves that the console blocks of the documents print what the pages show: each page is run in order, in a folder and
 * with servers of its own. Blocks that are not run are named with the reason.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubectls } from '../kubectl/programs.ts';
import { isRelease } from '../support/tier.ts';
import { describeWith } from '../support/tools.ts';
import { pageRuns } from './page-runs.ts';
import { compare, PageSession, readPage } from './page-session.ts';

/** How long a page may take on a slow machine. */
const pageMaxMs = 600_000;
const root = path.join(import.meta.dirname, '../..');
const pages = [
  'README.md',
  ...readdirSync(path.join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
].map((name) => ({ name, ...readPage(readFileSync(path.join(root, name), 'utf8')) }));

/** Pages show the words of this version of kubectl; others say some things differently, and older ones lack commands. */
const shownVersion = '1.32';
const hasOtherWords = kubectls[0]?.version !== shownVersion;
const describePages = describeWith('kubectl');

describe('the list of pages', () => {
  it('has every page with commands, and no other', () => {
    const withBlocks = pages.filter(({ blocks }) => blocks.length).map(({ name }) => name);
    expect(Object.keys(pageRuns).sort()).toEqual(withBlocks.sort());
  });

  it.each(pages.filter(({ blocks }) => blocks.length))('names only blocks of $name', ({ name, blocks }) => {
    const { left = {} } = pageRuns[name]!;
    const names = blocks.map((block) => block.name);
    expect(Object.keys(left).filter((start) => !names.some((one) => `${one}\n`.startsWith(start)))).toEqual(
      [],
    );
  });
});

describe('a comparison', () => {
  it.each([
    ['what is the same', 'a  b\n', 'a b', true],
    ['other words', 'pod/a created\n', 'pod/a configured\n', false],
    ['a status', '200\n', '201\n', false],
    ['more lines', 'a\n', 'a\nb\n', false],
    ['less lines', 'a\nb\n', 'a\n', false],
    ['nothing where the page shows nothing', '', '', true],
    ['words where the page shows nothing', '', 'a\n', false],
    ['lines that are left out', '…\nb\n…\n', 'a\nb\nc\n', true],
    ['lines without the one that counts', '…\nb\n…\n', 'a\nc\n', false],
    ['ages and names', 'web-797596b896-865jq   1/1   2s', 'web-6c8f7d9b5-x2x4z  1/1 1m3s', true],
    ['a state beside them', 'web-797596b896-865jq   1/1   2s', 'web-6c8f7d9b5-x2x4z  0/1 1m3s', false],
  ])('tells %s', (_, shown, printed, isSame) => {
    expect(compare(shown, printed) !== undefined).toBe(isSame);
  });

  it('keeps names for later commands', () => {
    expect(compare('pod/p-797596b896-865jq\n', 'pod/p-6c8f7d9b5-x2x4z\n')).toEqual(
      new Map([['-797596b896-865jq', '-6c8f7d9b5-x2x4z']]),
    );
  });
});

describePages.each(pages.filter(({ name, blocks }) => blocks.length && pageRuns[name]?.session))(
  '$name',
  ({ name, blocks, files }) => {
    const { session: given = {}, left = {} } = pageRuns[name]!;
    const { server, needs = {}, before = [], after = [], tier, ending, stopsFor = [] } = given;
    const reasonOf = (block: string): string | undefined =>
      Object.entries(left).find(([start]) => `${block}\n`.startsWith(start))?.[1];
    const isLeftOut = hasOtherWords || (tier === 'release' && !isRelease);
    let session: PageSession;

    beforeAll(async () => {
      if (isLeftOut) return;
      session = await PageSession.open(kubectls[0]!.program, [...files, ...Object.entries(needs)], ending);
      for (const command of before) await session.run({ command, shown: '…' });
      if (server) expect(await session.run({ command: server, shown: '' })).toBeUndefined();
      for (const command of after) await session.run({ command, shown: '…' });
    });
    afterAll(() => session?.close());

    it.skipIf(isLeftOut)(
      'prints what it shows',
      async () => {
        const run = blocks.filter((block) => !reasonOf(block.name));
        expect(run.length).toBeGreaterThan(0);
        for (const { steps } of run)
          for (const step of steps) {
            if (stopsFor.some((start) => step.command.startsWith(start))) await session.stop();
            const printed = await session.run(step);
            if (printed !== undefined)
              expect(`$ ${step.command}\n${printed}`).toBe(`$ ${step.command}\n${step.shown}`);
          }
      },
      pageMaxMs,
    );
  },
);
