/** Proves that the glue for test runners works as the documents show it, from an installed package. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isRelease } from '../support/tier.ts';
import { describeWith } from '../support/tools.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wherry-runners-'));
  const modules = join(folder, 'node_modules');
  await mkdir(join(modules, 'wherry'), { recursive: true });
  for (const name of ['package.json', 'dist'])
    await cp(join(root, name), join(modules, 'wherry', name), { recursive: true });
  const { dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  for (const name of [...Object.keys(dependencies), '@kubernetes', 'vitest']) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(root, 'node_modules', name), join(modules, name), 'junction');
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Programs that a page runs with Vitest, and what it shows of the output. */
async function vitestPrograms(page: string) {
  const blocks = [...(await readFile(join(root, page), 'utf8')).matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].map(
    ([, text]) => text!,
  );
  return blocks.flatMap((text, i) => {
    const [, name, prints] = /^\$ npx vitest run (\S+)\n([\s\S]*)$/.exec(blocks[i + 1] ?? '') ?? [];
    return name && text.startsWith(`// ${name}\n`) ? [{ name, text, prints: prints! }] : [];
  });
}

/** Without what this run of Vitest tells its own tests. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(VITEST|TEST$|NODE_ENV|MODE|DEV|PROD|SSR|NODE_TEST)/.test(name),
  ),
);
const quiet = { ...environment, NO_COLOR: '1', CI: '1' };

describe('the examples for Vitest of docs/testing.md', () => {
  it('pass', async () => {
    const programs = await vitestPrograms('docs/testing.md');
    expect(programs).not.toEqual([]);
    for (const { name, text, prints } of isRelease ? programs : programs.slice(-1)) {
      await writeFile(join(folder, name), text);
      const vitest = join(root, 'node_modules/vitest/vitest.mjs');
      const { stdout } = await run(process.execPath, [vitest, 'run', name], { cwd: folder, env: quiet });
      for (const line of prints.split('\n').filter((shown) => shown.trim() && shown !== '…'))
        expect(stdout).toContain(line.trim());
    }
  });
});

/** How a test of Jest is loaded: `npm test` tries the first, and the other without Jest below. */
const jestForms: readonly [form: string, load: string, flags: readonly string[]][] = [
  ['cjs', `const { useCluster } = require('wherry/testing/jest');`, []],
  [
    'mjs',
    `import { CoreV1Api } from '@kubernetes/client-node';\nimport { useCluster } from 'wherry/testing/jest';`,
    ['--experimental-vm-modules'],
  ],
];

describeWith('jest')('Jest itself', () => {
  it.each(isRelease ? jestForms : jestForms.slice(0, 1))(
    'runs tests with a cluster of their own (%s)',
    async (form, load, flags) => {
      const program = `${load}
      const cluster = useCluster({ simulatedNodes: 1 });
      const pods = () => cluster.url + '/api/v1/namespaces/default/pods';
      test('a pod runs', async () => {
        const spec = { containers: [{ name: 'c', image: 'i' }] };
        await cluster.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec });
        const found = await cluster.waitFor('Pod/p', 'Ready', { timeoutMs: 60_000 });
        expect(found.status.phase).toBe('Running');
        expect((await fetch(pods() + '/p')).status).toBe(200);
      }, 60_000);
      test('the next test has a fresh state', async () => {
        expect((await fetch(pods() + '/p')).status).toBe(404);
        ${form === 'mjs' ? `expect((await (await cluster.kubeConfig()).makeApiClient(CoreV1Api).listNamespace()).items).not.toEqual([]);` : ''}
      }, 60_000);`;
      await writeFile(join(folder, `pod.jest.${form}`), program);
      const config = {
        rootDir: folder,
        testRegex: `pod\\.jest\\.${form}$`,
        moduleFileExtensions: [form, 'js', 'json'],
        transform: {},
      };
      const args = [...flags, process.env.WHERRY_JEST!, '--ci', '--config', JSON.stringify(config)];
      const { stderr } = await run(process.execPath, args, { cwd: folder, env: quiet });
      expect(stderr).toContain('2 passed, 2 total');
    },
  );
});

describe('the glue for Jest', () => {
  it.each(isRelease ? ['mjs', 'cjs'] : ['mjs'])('takes the hooks of the global scope (%s)', async (form) => {
    const load =
      form === 'mjs'
        ? `const { useCluster } = await import('wherry/testing/jest');`
        : `const { useCluster } = require('wherry/testing/jest');`;
    const program = `
      const hooks = {};
      for (const name of ['beforeAll', 'beforeEach', 'afterAll']) globalThis[name] = (work) => { hooks[name] = work; };
      ${load}
      const cluster = useCluster();
      const work = async () => {
        let early;
        try { cluster.url; } catch (error) { early = error.message; }
        await hooks.beforeAll();
        await hooks.beforeEach();
        await cluster.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' } });
        await hooks.beforeEach();
        await cluster.waitFor('ConfigMap/one', 'deleted');
        await hooks.afterAll();
        console.log(early);
      };
      work();
    `;
    await writeFile(join(folder, `jest.${form}`), program);
    const { stdout } = await run(process.execPath, [join(folder, `jest.${form}`)], {
      cwd: folder,
      env: quiet,
    });
    expect(stdout).toBe('the cluster runs while tests run: use it inside of a test or a hook\n');
  });

  it('says what is missing outside of a runner', async () => {
    const program = `require('wherry/testing/jest').useCluster()`;
    await expect(run(process.execPath, ['-e', program], { cwd: folder, env: quiet })).rejects.toThrow(
      'there are no hooks of a test runner here',
    );
  });
});
