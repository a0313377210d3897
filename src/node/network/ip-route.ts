/** The `ip` program of Linux: links, addresses, routes and network namespaces of this machine. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { helperEnv, type Spawner } from '../process/spawner.ts';
import { Subnet } from './subnet.ts';

/** The folder where `ip netns` keeps named namespaces. */
const namespaceFolder = '/var/run/netns';
const runMs = 60_000;
/** Maximum output of `ip`; some machines have tens of thousands of routes. */
const outputBytesMax = 32 * 1024 * 1024;
const complaintCharsMax = 500;

export interface DeviceRoute {
  readonly to: Subnet;
  readonly device: string;
}

/** A command that failed, with the message of `ip`. */
export class IpError extends Error {
  override readonly name = 'IpError';

  /** Whether it failed because the object already exists. */
  get isTaken(): boolean {
    return this.message.includes('File exists');
  }
}

export const namespacePath = (name: string): string => join(namespaceFolder, name);

export class IpRoute {
  private constructor(
    private readonly spawner: Spawner,
    private readonly program: string,
  ) {}

  /** Undefined where `ip` is not installed. */
  static find(spawner: Spawner): IpRoute | undefined {
    const program = spawner.tool('ip');
    return program === undefined ? undefined : new IpRoute(spawner, program);
  }

  /** Runs commands in order, in a namespace if one is given. Stops at the first that fails. */
  async batch(commands: readonly string[], namespace?: string): Promise<void> {
    const place = namespace === undefined ? [] : ['-n', namespace];
    await this.#run([...place, '-batch', '-'], `${commands.join('\n')}\n`);
  }

  /** Runs all commands and ignores failures. */
  async attempt(commands: readonly string[]): Promise<void> {
    if (commands.length)
      await this.#run(['-force', '-batch', '-'], `${commands.join('\n')}\n`).catch(() => undefined);
  }

  async links(): Promise<string[]> {
    const links = JSON.parse((await this.#run(['-j', 'link', 'show'])) || '[]') as { ifname?: string }[];
    return links.flatMap(({ ifname }) => (ifname === undefined ? [] : [ifname]));
  }

  async namespaces(): Promise<string[]> {
    return readdir(namespaceFolder).catch(() => []);
  }

  /** All IPv4 routes except default routes; routes to the machine's own addresses are included. */
  async routes(): Promise<DeviceRoute[]> {
    const text = await this.#run(['-4', '-j', 'route', 'show', 'table', 'all']);
    const routes = JSON.parse(text || '[]') as { dst?: string; dev?: string }[];
    return routes.flatMap(({ dst = '', dev = '' }) => {
      const to = Subnet.parse(dst);
      return to && !to.isDefault ? [{ to, device: dev }] : [];
    });
  }

  async #run(args: readonly string[], input = ''): Promise<string> {
    const child = this.spawner.spawn([this.program, ...args], {
      env: helperEnv,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name]!.setEncoding('utf8')
        .on('data', (text: string) => {
          if (output[name].length < outputBytesMax) output[name] += text;
        })
        .on('error', () => undefined);
    child.stdin!.on('error', () => undefined).end(input);
    const timer = setTimeout(() => child.kill('SIGKILL'), runMs);
    try {
      const code = await new Promise<number | null>((resolve, reject) => {
        child.once('error', reject).once('close', resolve);
      });
      if (code !== 0) throw new IpError(complaintOf(output.stderr, input));
      return output.stdout;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The first error in stderr together with its command: `RTNETLINK answers: Operation not permitted (link add …)`. */
function complaintOf(stderr: string, input: string): string {
  const said =
    stderr
      .replace(/^Command failed .*$/gm, '')
      .trim()
      .replace(/\s*\n\s*/g, '; ') || 'no answer';
  const line = Number(/^Command failed -:(\d+)$/m.exec(stderr)?.[1]);
  const command = line ? ` (ip ${input.split('\n')[line - 1]})` : '';
  return `${said}${command}`.slice(0, complaintCharsMax);
}
