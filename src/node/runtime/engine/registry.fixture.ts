/** A registry for tests, on loopback in a temporary folder, that asks for a password. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { busyboxRoot, imageParts, programOf, testImageConfig } from './engine.fixture.ts';

const registryUser = { username: 'reader', password: 'secret' };
/** The hash of that password, by bcrypt. */
const passwordHash = '$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a';

export const registryProblem = programOf('docker-registry')
  ? undefined
  : 'there is no program called docker-registry';

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

export class TestRegistry {
  #layer: Promise<Buffer> | undefined;

  private constructor(
    private readonly folder: string,
    private readonly child: ChildProcess,
    readonly host: string,
  ) {}

  static async start(): Promise<TestRegistry> {
    const folder = await mkdtemp(join(tmpdir(), 'wherry-registry-'));
    await writeFile(join(folder, 'passwords'), `${registryUser.username}:${passwordHash}\n`);
    const host = `127.0.0.1:${await freePort()}`;
    await writeFile(
      join(folder, 'config.yml'),
      JSON.stringify({
        version: 0.1,
        log: { level: 'error' },
        storage: { filesystem: { rootdirectory: join(folder, 'data') } },
        http: { addr: host },
        auth: { htpasswd: { realm: 'test', path: join(folder, 'passwords') } },
      }),
    );
    const child = spawn(programOf('docker-registry')!, ['serve', join(folder, 'config.yml')], {
      stdio: 'ignore',
    });
    const registry = new TestRegistry(folder, child, host);
    await registry.#answering();
    return registry;
  }

  get secretData(): Record<string, string> {
    const config = { auths: { [this.host]: registryUser } };
    return { '.dockerconfigjson': Buffer.from(JSON.stringify(config)).toString('base64') };
  }

  /** Puts the test image there under a name; returns its digest. Other labels make it another image. */
  async push(name: string, labels?: Readonly<Record<string, string>>): Promise<string> {
    const [repository, tag] = name.split(':');
    const { layer, config, manifest, digestOf } = imageParts(
      await (this.#layer ??= busyboxRoot(this.folder)),
      {
        ...testImageConfig,
        ...(labels ? { Labels: labels } : {}),
      },
    );
    for (const blob of [layer, config]) {
      const begun = await this.#send('POST', `/v2/${repository}/blobs/uploads/`);
      const place = new URL(begun.headers.get('location')!, `http://${this.host}`);
      place.searchParams.set('digest', digestOf(blob));
      await this.#send('PUT', place.pathname + place.search, blob, 'application/octet-stream');
    }
    const { mediaType } = JSON.parse(manifest.toString()) as { mediaType: string };
    await this.#send('PUT', `/v2/${repository}/manifests/${tag}`, manifest, mediaType);
    return digestOf(manifest);
  }

  async #send(method: string, path: string, body?: Buffer, type?: string): Promise<Response> {
    const password = `${registryUser.username}:${registryUser.password}`;
    const answer = await fetch(`http://${this.host}${path}`, {
      method,
      headers: {
        Authorization: `Basic ${Buffer.from(password).toString('base64')}`,
        ...(type ? { 'Content-Type': type } : {}),
      },
      ...(body ? { body: new Uint8Array(body) } : {}),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return answer;
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    if (this.child.exitCode === null) {
      this.child.kill('SIGTERM');
      await ended;
    }
    await rm(this.folder, { recursive: true, force: true });
  }

  async #answering(): Promise<void> {
    for (;;) {
      const answer = await fetch(`http://${this.host}/v2/`).catch(() => undefined);
      if (answer?.status === 401) return;
      if (this.child.exitCode !== null) throw new Error('the registry has ended');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
