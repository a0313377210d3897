/** Proves that the Go program of the examples, which does what envtest does, passes with the programs of `wherry envtest`. */
import { rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../support/tools.ts';
import { assets, execute } from './harness.ts';

const root = path.join(import.meta.dirname, '../..');
const example = path.join(root, 'examples/go');
/** Compiled packages are kept between runs. */
const cache = path.join(root, '.cache/wherry-go');

describeWith('golang')('a suite in Go', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await assets();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('starts the programs, makes users, creates and watches', async () => {
    const env = {
      ...process.env,
      KUBEBUILDER_ASSETS: folder,
      GOCACHE: cache,
      CGO_ENABLED: '0',
      GOFLAGS: '-mod=mod',
      GOPROXY: 'off',
    };
    const { stdout } = await execute('go', ['test', '-count=1', '-v', './...'], { cwd: example, env });
    expect(stdout).toMatch(/^--- PASS: TestConfigMap/m);
  });
});
