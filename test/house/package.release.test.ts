/**
 * Proves that `npm pack` makes what users need: small, without files of the build machine, with types that
 * resolve everywhere, and code that runs as an ES module, from CommonJS and as a command.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const unpackedBytesMax = 3_000_000;
const buildMaxMs = 300_000;

/** The inputs of the package. */
const sources = ['src', 'web', 'scripts', 'package.json', 'tsconfig.json', 'README.md', 'LICENSE'];

let folder: string;
/** A project with the package installed: `node_modules/wherry` and its dependencies. */
let consumer: string;
let tarball: string;
let installed: string;
let packed: { files: { path: string; size: number; mode: number }[]; unpackedSize: number };

/** Packs a copy, because packing builds, and other tests use the existing build. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wherry-package-'));
  const copy = join(folder, 'copy');
  for (const name of sources) await cp(join(root, name), join(copy, name), { recursive: true });
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'), 'junction');
  const { stdout } = await run('npm', ['pack', '--json', '--foreground-scripts=false'], {
    cwd: copy,
    shell: process.platform === 'win32',
  });
  const [described] = JSON.parse(stdout);
  packed = described;
  tarball = join(copy, described.filename);
  consumer = join(folder, 'consumer');
  installed = join(consumer, 'node_modules', 'wherry');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed]);
  const { dependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
  for (const name of Object.keys(dependencies)) {
    await mkdir(join(consumer, 'node_modules', name, '..'), { recursive: true });
    await symlink(join(root, 'node_modules', name), join(consumer, 'node_modules', name), 'junction');
  }
}, buildMaxMs);

afterAll(() => rm(folder, { recursive: true, force: true }));

const bundle = async (): Promise<string> => {
  const name = (await readdir(join(installed, 'dist'))).find((each) => each.startsWith('wherry-'))!;
  return readFile(join(installed, 'dist', name), 'utf8');
};

describe('the package', () => {
  it('is small, and holds the build and what people read, nothing else', () => {
    const paths = packed.files.map(({ path }) => path);
    const built = paths.filter((path) => path.startsWith('dist/'));
    expect(paths.filter((path) => !built.includes(path)).sort()).toEqual([
      'LICENSE',
      'README.md',
      'package.json',
    ]);
    // The page: compressed files with a hash in their names, and the one that names them.
    const page = built.filter((path) => path.startsWith('dist/ui/'));
    expect(page.filter((path) => !/^dist\/ui\/[\w.-]+-[A-Z0-9]{8}\.(?:js|svg)\.br$/.test(path))).toEqual([
      'dist/ui/index.html',
    ]);
    // Only code, its tables and types, and licences of code that is not ours: no source maps, no compiled code.
    expect(
      built.filter((path) => !page.includes(path) && !/^dist\/[\w-]+\.(?:js|cjs|d\.ts|d\.cts)$/.test(path)),
    ).toEqual(['dist/LICENSES.txt', 'dist/tables.bin']);
    expect(packed.unpackedSize).toBeLessThan(unpackedBytesMax);
  });

  it('tells where it comes from', async () => {
    const description = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
    expect(description).toMatchObject({
      license: 'Apache-2.0',
      homepage: expect.stringMatching(/^https:\/\//),
      repository: { type: 'git', url: expect.stringMatching(/^git\+https:\/\/.*\.git$/) },
      bugs: { url: expect.stringMatching(/^https:\/\//) },
      keywords: expect.arrayContaining(['kubernetes']),
    });
  });

  it('holds nothing of the machine it was built on', async () => {
    for (const { path } of packed.files) {
      const text = await readFile(join(installed, path), 'utf8');
      expect(text.includes(root) || text.includes(folder), path).toBe(false);
      expect(text, path).not.toMatch(/sourceMappingURL/);
    }
  });

  it('asks for every package that its code loads', async () => {
    const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(
      await readFile(join(installed, 'package.json'), 'utf8'),
    );
    // Names are shortened, so any function called with the name of an installed package may load it.
    const loaded = [...(await bundle()).matchAll(/[\w$]\("((?:@[\w.-]+\/)?[a-z][\w.-]*)[^"\s]*"\)/g)]
      .map(([, name]) => name!)
      .filter((name) => !isBuiltin(name) && existsSync(join(root, 'node_modules', name, 'package.json')));
    expect(loaded).toEqual(expect.arrayContaining(['lmdb', 'jose', 'ws', 'yaml']));
    expect(Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })).toEqual(
      expect.arrayContaining([...new Set(loaded)]),
    );
  });

  it('has nothing that publint objects to', async () => {
    const { messages } = await publint({ pkgDir: installed, strict: true, pack: false });
    expect(messages).toEqual([]);
  });

  it('has types that resolve wherever they are asked for', async () => {
    const { stdout } = await run(process.execPath, [
      join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js'),
      tarball,
      '--format=ascii',
      '--no-color',
      '--no-emoji',
    ]);
    expect(stdout).toMatch(/No problems found/);
  });
});

/** Starts a cluster on each store, writes an object, reads it back and closes. */
const session = `
  const kept = { dataDir: process.argv[2] };
  for (const options of [{ store: 'memory' }, kept, kept]) {
    const cluster = await start(options);
    const maps = cluster.url + '/api/v1/namespaces/default/configmaps';
    const post = await fetch(maps, { method: 'POST', body: '{"metadata":{"name":"a"}}' });
    console.log(post.status, (await (await fetch(maps + '/a')).json()).metadata.name);
    await cluster.close();
  }
  const refused = await start({ host: '0.0.0.0' }).catch((error) => error);
  console.log(refused instanceof StartError, limitNames.length > 5);`;
const sessionSays = '200 a\n200 a\n409 a\ntrue true\n';

describe('code that uses the package', () => {
  const uses = async (name: string, text: string): Promise<{ stdout: string; stderr: string }> => {
    await writeFile(join(consumer, name), text);
    return run(process.execPath, [name, join(folder, `data-${name}`)], { cwd: consumer });
  };

  it('imports it from an ES module', async () => {
    const text = `import { limitNames, start, StartError } from 'wherry';${session}`;
    expect(await uses('module.mjs', text)).toEqual({ stdout: sessionSays, stderr: '' });
  });

  it('requires it from CommonJS', async () => {
    const text = `const { limitNames, start, StartError } = require('wherry');(async () => {${session}})();`;
    expect(await uses('common.cjs', text)).toEqual({ stdout: sessionSays, stderr: '' });
  });

  it('gets the same library both ways', async () => {
    const text = `import * as imported from 'wherry';
      import { createRequire } from 'node:module';
      const required = createRequire(import.meta.url)('wherry');
      console.log(Object.keys(required).every((name) => imported[name] === required[name]), Object.keys(required).join());`;
    expect((await uses('both.mjs', text)).stdout).toBe(
      'true StartError,authorizationModes,customKind,defaultLimits,importCluster,limitForms,limitNames,openDump,record,start,startNode\n',
    );
  });

  it('runs the command', async () => {
    const command = join(installed, 'dist', 'cli.cjs');
    const { version } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
    expect((await run(process.execPath, [command, '--version'])).stdout).toBe(`${version}\n`);
    if (process.platform !== 'win32') expect((await stat(command)).mode & 0o111).toBe(0o111);
    // From the shelf, where code is that few run.
    expect((await run(process.execPath, [command, 'completion', 'bash'])).stdout).toContain('complete -F');
  });
});

describe('types', () => {
  it('are those that the reference in embedding.md was made from', async () => {
    const types = join(installed, 'dist', 'index.d.cts');
    const args = ['--check', '--types', types, 'docs/embedding.md'];
    await run(process.execPath, [join(root, 'scripts/generate-docs.mjs'), ...args]);
  });

  const program = `
    const options: StartOptions = { store: 'memory', simulatedNodes: 2, limits: { watchersMax: 10 } };
    // @ts-expect-error there is no such option
    const wrong: StartOptions = { stores: 'memory' };
    export async function use(): Promise<string> {
      const cluster: Cluster = await start({ ...options, ...wrong, onError: (error) => error.message });
      await cluster.simulated.stop('simulated-1');
      await cluster.close();
      const url: string = cluster.url;
      return url;
    }
    export const isRefusal = (error: unknown): boolean => error instanceof StartError;`;
  const imports = `import { type Cluster, start, StartError, type StartOptions } from 'wherry';`;

  /** TypeScript 7, and the version before it. */
  const compilers = ['typescript-native', 'typescript'];
  const ways = [
    ['nodenext', 'nodenext', ['consumer.mts', 'consumer.cts']],
    ['esnext', 'bundler', ['consumer.ts']],
    ['node16', 'node16', ['older.cts']],
  ] as const;

  it.each(ways)(
    'fit a program with module %s and moduleResolution %s in %j',
    async (module, moduleResolution, files) => {
      for (const name of files) await writeFile(join(consumer, name), imports + program);
      const config = {
        // No other types: the package's types must not need any.
        compilerOptions: {
          module,
          moduleResolution,
          target: 'es2022',
          lib: ['es2022'],
          types: [],
          strict: true,
          noEmit: true,
        },
        files,
      };
      await writeFile(join(consumer, 'tsconfig.json'), JSON.stringify(config));
      for (const compiler of compilers) {
        const tsc = join(root, 'node_modules', compiler, 'bin/tsc');
        const { stdout } = await run(process.execPath, [tsc, '-p', consumer]).catch((error) => error);
        expect(stdout, compiler).toBe('');
      }
    },
  );
});
