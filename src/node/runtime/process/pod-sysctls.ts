/**
 * Kernel parameters of a pod (`securityContext.sysctls`). Those of the network are set in the pod's network namespace;
 * those of shared memory, semaphores and message queues in an IPC namespace that the pod gets for them.
 */
import { closeSync, openSync } from 'node:fs';
import type { Pod, Sysctl } from '../../../api/generated/types.ts';
import { isNetworkSysctl, sysctlPath } from '../../machine/sysctls.ts';
import type { PodAttachment } from '../../network/pod-network.ts';
import { helperEnv, type Spawner } from '../../process/spawner.ts';
import type { NamespaceTools } from './namespace-root.ts';

/** Time limit for making a namespace, which takes some 10 ms. */
const setupMs = 20_000;
const messageCharsMax = 500;

/** Writes values to files. Arguments: path and value in turn. */
const script = 'set -e; while [ $# -gt 0 ]; do printf "%s" "$2" > "$1"; shift 2; done';

export class PodSysctls {
  #closed = false;

  private constructor(
    private readonly nsenter: string,
    /** File descriptor that keeps the IPC namespace alive. */
    private readonly ipc: number | undefined,
  ) {}

  /** Sets the pod's parameters; undefined when it has none. Throws when that is not possible here. */
  static async set(
    pod: Pod,
    attachment: PodAttachment,
    tools: NamespaceTools | undefined,
    spawner: Spawner,
  ): Promise<PodSysctls | undefined> {
    const wanted = pod.spec?.securityContext?.sysctls ?? [];
    if (!wanted.length) return undefined;
    if (!tools) throw new Error('sysctls need namespaces, which this node cannot make');
    const ofNetwork = wanted.find(({ name = '' }) => isNetworkSysctl(name));
    if (ofNetwork && attachment.wrap(['true']).length === 1)
      throw new Error(
        `sysctl "${ofNetwork.name}" needs a network of the pod's own, and this node's pods share the machine's`,
      );
    const ipc = wanted.some(({ name = '' }) => !isNetworkSysctl(name));
    const made = new PodSysctls(tools.nsenter, ipc ? await newIpcNamespace(tools, spawner) : undefined);
    try {
      await made.#write(wanted, attachment, spawner);
    } catch (error) {
      made.close();
      throw error;
    }
    return made;
  }

  /** The command line that runs a command in the pod's IPC namespace, if it has one. */
  wrap(command: readonly string[]): readonly string[] {
    if (this.ipc === undefined) return command;
    const namespace = `--ipc=/proc/${process.pid}/fd/${this.ipc}`;
    // A command that already uses nsenter gets one more option: nsenter opens all namespaces before it enters any.
    return command[0] === this.nsenter
      ? [this.nsenter, namespace, ...command.slice(1)]
      : [this.nsenter, namespace, '--', ...command];
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.ipc !== undefined) closeSync(this.ipc);
  }

  async #write(sysctls: readonly Sysctl[], attachment: PodAttachment, spawner: Spawner): Promise<void> {
    const pairs = sysctls.flatMap(({ name = '', value = '' }) => [sysctlPath(name), value]);
    const command = this.wrap(['/bin/sh', '-c', script, 'sh', ...pairs]);
    const { code, stderr } = await spawner.run(attachment.wrap(command));
    if (code)
      throw new Error(
        `cannot set sysctls: ${stderr.trim().replaceAll('\n', '; ').slice(0, messageCharsMax) || `exit code ${code}`}`,
      );
  }
}

/** Starts a process in a new IPC namespace, and keeps the namespace when the process has ended. */
function newIpcNamespace(tools: NamespaceTools, spawner: Spawner): Promise<number> {
  const child = spawner.spawn([tools.unshare, '--ipc', '/bin/sh', '-c', 'echo ready; read -r line || true'], {
    env: helperEnv,
    stdio: ['pipe', 'pipe', 'ignore'],
    cwd: '/',
  });
  return new Promise((resolve, reject) => {
    let held: number | undefined;
    let problem = new Error('cannot make an IPC namespace on this machine');
    const timer = setTimeout(() => child.kill('SIGKILL'), setupMs);
    for (const stream of [child.stdin!, child.stdout!]) stream.on('error', () => undefined);
    child.stdout!.once('data', () => {
      try {
        held = openSync(`/proc/${child.pid}/ns/ipc`, 'r');
      } catch (error) {
        problem = error as Error;
      }
      child.stdin!.end();
    });
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('close', () => {
      clearTimeout(timer);
      if (held === undefined) reject(problem);
      else resolve(held);
    });
  });
}
