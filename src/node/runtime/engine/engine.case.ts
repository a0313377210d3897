/**
 * Container engines for tests: started in temporary folders on their own sockets, without touching the machine's
 * network, and ended with everything they have made. The image is made on the spot from a static busybox.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { DockerApi } from '../docker/dockerapi.ts';
import { labels, sandboxName } from './podidentity.ts';

const folders = ['/usr/sbin', '/usr/bin', '/sbin', '/bin', ...(process.env.PATH ?? '').split(delimiter)];

export const programOf = (name: string): string | undefined =>
  folders.map((folder) => join(folder, name)).find((path) => existsSync(path));

/** A busybox that needs no libraries. */
const busybox = (): string | undefined =>
  folders.map((folder) => join(folder, 'busybox')).find((path) => existsSync(path) && isStatic(path));

/** An executable without an interpreter: its program headers have none of that type (3). */
function isStatic(path: string): boolean {
  const file = readFileSync(path);
  const [offset, size, count] = [
    Number(file.readBigUInt64LE(32)),
    file.readUInt16LE(54),
    file.readUInt16LE(56),
  ];
  return Array.from({ length: count }, (_, i) => file.readUInt32LE(offset + i * size)).every(
    (type) => type !== 3,
  );
}

/** Why tests with an engine are skipped on this machine; undefined where they can run. */
export function engineProblem(program: string): string | undefined {
  const absent = (why: string): string => {
    // Where the tools are installed on purpose, a missing one must not go unnoticed.
    if (process.env.WHERRY_ENGINES === 'required') throw new Error(`tests with engines are required: ${why}`);
    return why;
  };
  if (process.platform !== 'linux') return absent('it needs Linux');
  if (process.getuid?.() !== 0) return absent('it takes the rights of root');
  for (const name of [program, 'runc', 'containerd', 'tar'])
    if (!programOf(name)) return absent(`there is no program called ${name}`);
  if (!busybox()) return absent('there is no static busybox');
  return undefined;
}

export const testImage = 'localhost/busybox:1';

/** The root of an image with busybox and a few users, as a tar archive. */
async function busyboxRoot(folder: string): Promise<Buffer> {
  const root = join(folder, 'root');
  const program = busybox()!;
  for (const name of ['bin', 'etc', 'tmp', 'home', 'www']) await mkdir(join(root, name), { recursive: true });
  await copyFile(program, join(root, 'bin/busybox'));
  const names = execFileSync(program, ['--list'], { encoding: 'utf8' }).split('\n');
  for (const name of names) if (name && name !== 'busybox') await symlink('busybox', join(root, 'bin', name));
  await writeFile(join(root, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\nweb:x:1000:1000::/home:/bin/sh\n');
  await writeFile(join(root, 'etc/group'), 'root:x:0:\nweb:x:1000:\n');
  await writeFile(join(root, 'www/index.html'), 'hello from the image\n');
  return execFileSync(programOf('tar')!, ['-C', root, '-cf', '-', '.'], { maxBuffer: 64 * 1024 * 1024 });
}

export class TestDocker {
  readonly api: DockerApi;
  #child: ChildProcess | undefined;

  private constructor(
    readonly folder: string,
    readonly socket: string,
  ) {
    this.api = new DockerApi(socket);
  }

  static async start(): Promise<TestDocker> {
    const folder = await mkdtemp(join(tmpdir(), 'wherry-docker-'));
    const docker = new TestDocker(folder, join(folder, 'd.sock'));
    await docker.run();
    await docker.#load();
    return docker;
  }

  /** Starts the engine, or starts it again. */
  async run(): Promise<void> {
    const { folder, socket } = this;
    const path = (name: string): string => join(folder, name);
    await rm(path('pid'), { force: true });
    const child = spawn(
      programOf('dockerd')!,
      [
        ['--data-root', path('data')],
        ['--exec-root', path('exec')],
        ['--pidfile', path('pid')],
        ['--host', `unix://${socket}`],
        ['--bridge=none', '--iptables=false', '--ip6tables=false', '--ip-masq=false', '--ip-forward=false'],
        ['--live-restore'],
      ].flat(),
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    this.#child = child;
    let said = '';
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4_000);
    });
    const ended = new Promise<never>((_resolve, reject) => {
      child.once('exit', () => reject(new Error(`dockerd has ended: ${said}`)));
    });
    ended.catch(() => undefined);
    await Promise.race([ended, this.#answering()]);
  }

  async #answering(): Promise<void> {
    for (;;) {
      const answered = await this.api.negotiate().then(
        () => true,
        () => false,
      );
      if (answered) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async #load(): Promise<void> {
    const [repo, tag] = testImage.split(':');
    const changes = [
      'CMD ["sh", "-c", "echo from the image; sleep 3600"]',
      'ENV FROM_IMAGE=yes',
      'WORKDIR /www',
    ];
    await this.api.json('POST', '/images/create', {
      query: { fromSrc: '-', repo, tag, changes: changes.join('\n') },
      body: await busyboxRoot(this.folder),
    });
  }

  /** Ids of all containers. */
  async containers(): Promise<string[]> {
    const found = await this.api.json<{ Id: string }[]>('GET', '/containers/json', { query: { all: true } });
    return found.map(({ Id }) => Id);
  }

  async killSandbox(uid: string): Promise<void> {
    const filters = JSON.stringify({
      label: [`${labels.podUid}=${uid}`, `${labels.container}=${sandboxName}`],
    });
    for (const { Id } of await this.api.json<{ Id: string }[]>('GET', '/containers/json', {
      query: { filters },
    }))
      await this.api.json('POST', `/containers/${Id}/kill`);
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  }

  async close(): Promise<void> {
    for (const id of await this.containers().catch(() => []))
      await this.api
        .json('DELETE', `/containers/${id}`, { query: { force: true, v: true } })
        .catch(() => undefined);
    this.api.close();
    await this.kill('SIGTERM');
    await rm(this.folder, { recursive: true, force: true });
  }
}
