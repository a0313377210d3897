/**
 * The network of CRI sandboxes. Their engine calls network plugins (CNI), as configured by a file in a folder of the
 * engine; without a file it starts no pod with its own network:
 *
 * a foreign file     the pod has the address that these plugins give it
 * no file            the agent writes one, if pods have networks of their own here; else pods share the machine's
 * network
 * the agent's file   its plugins only make an interface that the agent replaces by one on its own bridge, so that
 * services, names, policies and host ports are the same as for all other pods
 */
import type { Pod } from '../../../api/generated/types.ts';
import type { EngineBase } from '../engine/container-engine.ts';
import { configurationFolder, networkOwner, writeConfiguration } from './cni-configuration.ts';
import type { CriApi } from './cri-api.ts';

const readyMs = 10_000;
const pollMs = 100;

export class CriNetwork {
  #preparing: Promise<void> | undefined;
  #kind: 'ours' | 'others' | 'absent' | undefined;

  constructor(
    private readonly api: CriApi,
    private readonly base: EngineBase,
  ) {}

  /** Whether foreign plugins connect sandboxes. */
  get isForeign(): boolean {
    return this.#kind === 'others';
  }

  /** Whether all pods share the network of the machine. */
  get isAbsent(): boolean {
    return this.#kind === 'absent';
  }

  /** Finds out how sandboxes are connected: must be called before `connect`. */
  prepare(): Promise<void> {
    this.#preparing ??= this.#prepare().catch((error) => {
      this.#preparing = undefined;
      throw error;
    });
    return this.#preparing;
  }

  /** Forgets the result, because the configuration may have changed: `prepare` looks again before the next sandbox. */
  forget(): void {
    this.#preparing = undefined;
  }

  /** Connects a sandbox of this agent or an earlier one; returns its address. */
  async connect(pod: Pod, id: string): Promise<string> {
    const { status, info } = await this.api.call('PodSandboxStatus', { id, verbose: true });
    if (this.#kind === 'ours') return this.#join(pod, pidIn(info?.['info']));
    const ip = status?.network?.ip;
    if (!ip) throw new Error('the container engine has given the pod no address');
    return ip;
  }

  async #join(pod: Pod, pid: number): Promise<string> {
    const { network, spawner } = this.base;
    const [nsenter, ip] = [spawner.tool('nsenter'), spawner.tool('ip')];
    if (!pid || !nsenter || !ip) throw new Error('the network of the sandbox cannot be reached');
    // Remove the plugins' interface. A sandbox of an earlier agent no longer has it.
    await spawner.run([nsenter, '-t', String(pid), '-n', ip, 'link', 'del', 'eth0']);
    return (await network.join!(pod, pid)).ip;
  }

  async #prepare(): Promise<void> {
    const folder = await configurationFolder(this.api);
    const owner = await networkOwner(folder);
    const mayJoin = this.base.network.join !== undefined;
    if (owner === 'others') this.#kind = owner;
    else this.#kind = mayJoin ? 'ours' : 'absent';
    if (this.#kind !== 'ours') return;
    if (!owner) await writeConfiguration(folder);
    await this.#ready();
  }

  async #ready(): Promise<void> {
    const endMs = performance.now() + readyMs;
    for (;;) {
      const { status } = await this.api.call('Status', {});
      const network = status?.conditions?.find(({ type }) => type === 'NetworkReady');
      if (network?.status) return;
      if (performance.now() > endMs)
        throw new Error(`the engine has no network for pods: ${network?.message ?? ''}`);
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  }
}

function pidIn(text: string | undefined): number {
  try {
    return (JSON.parse(text ?? '{}') as { pid?: number }).pid ?? 0;
  } catch {
    return 0;
  }
}
