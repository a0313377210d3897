/** Proves that the sandbox programs, which are in the source as base64, are what their sources in assembler give. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { describeWith } from '../support/tools.ts';

const root = join(import.meta.dirname, '../..');
const script = join(root, 'scripts/pause-program.mjs');
const run = promisify(execFile);

interface Comparison {
  readonly architecture: string;
  readonly isSame: boolean;
}

describeWith('assemblers')('the sandbox programs', () => {
  it('are the bytes that their sources give', async () => {
    const { stdout } = await run(process.execPath, [script]);
    expect(stdout).toBe('amd64: the 280 bytes of its source\narm64: the 304 bytes of its source\n');
  });

  it('are told apart from those of any other source', async () => {
    const { comparePrograms } = (await import(script as string)) as {
      comparePrograms(folder: string): Promise<Comparison[]>;
    };
    const folder = mkdtempSync(join(tmpdir(), 'wherry-sources-'));
    try {
      for (const name of ['pause-amd64.s', 'pause-arm64.s']) {
        const source = readFileSync(join(root, 'src/node/runtime/engine', name), 'utf8');
        writeFileSync(join(folder, name), source.replace('signalTerminate, 15', 'signalTerminate, 12'));
      }
      expect(await comparePrograms(folder)).toMatchObject([
        { architecture: 'amd64', isSame: false },
        { architecture: 'arm64', isSame: false },
      ]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
