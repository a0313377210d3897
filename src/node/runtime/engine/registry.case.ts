/** A registry for tests, on loopback in a temporary folder, that asks for a password. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DockerApi } from '../docker/dockerapi.ts';
import { programOf, testImage } from './engine.case.ts';

const registryUser = { username: 'reader', password: 'secret' };
/** Of that password, by bcrypt. */
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

  /** Puts the test image there under a name; returns its digest. */
  async push(api: DockerApi, name: string): Promise<string> {
    const [repo, tag] = [`${this.host}/${name.split(':')[0]}`, name.split(':')[1]];
    await api.json('POST', `/images/${testImage}/tag`, { query: { repo, tag } });
    const auth = Buffer.from(JSON.stringify(registryUser))
      .toString('base64')
      .replaceAll('+', '-')
      .replaceAll('/', '_');
    const answer = await api.stream('POST', `/images/${repo}/push`, {
      query: { tag },
      headers: { 'X-Registry-Auth': auth },
    });
    let said = '';
    for await (const text of answer.setEncoding('utf8')) said += text;
    const digest = /sha256:[0-9a-f]{64}/.exec(/digest: (\S+)/.exec(said)?.[1] ?? '')?.[0];
    if (!digest) throw new Error(`the image was not pushed: ${said}`);
    await api.json('DELETE', `/images/${repo}:${tag}`);
    return digest;
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
