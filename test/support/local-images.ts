/**
 * Images made of programs of this machine, because tests reach no registry of images: a program with its libraries and
 * busybox; and a base with Node for the Dockerfile, whose `npm` unpacks the package beside dependencies that are
 * already there.
 */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { busyboxRoot, programOf } from '../../src/node/runtime/engine/engine.fixture.ts';

const project = path.join(import.meta.dirname, '../..');

/** What the Dockerfile calls of npm: `npm install … ./wherry-VERSION.tgz`. */
const npm = `#!/bin/sh
set -e
[ "$1" = install ]
for last; do :; done
mkdir -p node_modules/wherry node_modules/.bin
tar -xzf "$last" -C node_modules/wherry --strip-components=1
cp -a /prepared/. node_modules/
chmod +x node_modules/wherry/dist/cli.cjs
ln -s ../wherry/dist/cli.cjs node_modules/.bin/wherry
`;

/** Runs Docker's command against an engine of the tests. */
export class DockerCommand {
  readonly env: NodeJS.ProcessEnv;

  constructor(
    socket: string,
    private readonly folder: string,
  ) {
    // The builder that needs no plugin of the command, and images for the compose file.
    this.env = { ...process.env, DOCKER_HOST: `unix://${socket}`, DOCKER_BUILDKIT: '0' };
  }

  run(...args: string[]): string {
    return execFileSync(programOf('docker')!, args, { env: this.env, encoding: 'utf8', stdio: 'pipe' });
  }

  /** What an image or a container is. */
  inspect<T>(name: string): T {
    return JSON.parse(this.run('inspect', name))[0];
  }

  /** Makes an image with a program of this machine as its entry point. */
  async importProgram(image: string, program: string, ...args: string[]): Promise<void> {
    const root = await this.#root(image);
    const target = path.join('/usr/local/bin', path.basename(program));
    addProgram(root, realpathSync(program), target);
    this.#import(root, image, `ENTRYPOINT ${JSON.stringify([target, ...args])}`);
  }

  /** Makes the base for the Dockerfile. */
  async importBase(image: string): Promise<void> {
    const root = await this.#root(image);
    addProgram(root, process.execPath, '/usr/bin/node');
    execFileSync('ln', ['-s', '../../bin/env', path.join(root, 'usr/bin/env')]);
    writeFileSync(path.join(root, 'usr/bin/npm'), npm, { mode: 0o755 });
    for (const name of productionPackages())
      cpSync(path.join(project, name), path.join(root, name.replace('node_modules', 'prepared')), {
        recursive: true,
      });
    this.#import(root, image, `ENV PATH=/usr/local/bin:/usr/bin:/bin`);
  }

  /** Builds the image of the package as it is built in `dist/` now. */
  build(image: string, base: string): void {
    const context = path.join(this.folder, 'context');
    const packed = path.join(this.folder, 'packed/package');
    for (const folder of [context, packed]) mkdirSync(folder, { recursive: true });
    for (const name of ['dist', 'package.json'])
      cpSync(path.join(project, name), path.join(packed, name), { recursive: true });
    execFileSync('tar', [
      '-C',
      path.dirname(packed),
      '-czf',
      path.join(context, 'wherry-0.0.0.tgz'),
      'package',
    ]);
    for (const name of ['Dockerfile', '.dockerignore'])
      copyFileSync(path.join(project, name), path.join(context, name));
    this.run('build', '--build-arg', `BASE=${base}`, '-t', image, context);
  }

  async #root(image: string): Promise<string> {
    const folder = path.join(this.folder, image.replaceAll(/\W/g, '-'));
    await busyboxRoot(folder);
    return path.join(folder, 'root');
  }

  #import(root: string, image: string, change: string): void {
    const archive = `${root}.tar`;
    execFileSync('tar', ['-C', root, '-cf', archive, '.']);
    this.run('import', '--change', change, archive, image);
  }
}

/** Copies a program with the libraries that it loads. */
function addProgram(root: string, program: string, target: string): void {
  const put = (from: string, to: string): void => {
    mkdirSync(path.join(root, path.dirname(to)), { recursive: true });
    copyFileSync(realpathSync(from), path.join(root, to));
  };
  put(program, target);
  let libraries = '';
  try {
    libraries = execFileSync('ldd', [program], { encoding: 'utf8', stdio: 'pipe' });
  } catch {
    // It has none: it is linked statically.
  }
  for (const [library] of libraries.matchAll(/\/\S+/g)) put(library, library);
}

/** Folders of what `npm install --omit=dev` installs beside the package. */
function productionPackages(): string[] {
  const { packages } = JSON.parse(readFileSync(path.join(project, 'package-lock.json'), 'utf8'));
  return Object.entries<{ dev?: boolean; devOptional?: boolean }>(packages)
    .filter(([name, { dev, devOptional }]) => name && !dev && !devOptional)
    .map(([name]) => name)
    .filter((name) => existsSync(path.join(project, name)));
}
