/**
 * A pod in an engine that speaks CRI. The engine writes logs into the folder of the pod:
 *
 *   pods/<uid>/containers/<name>/<attempt>.log      and .log.1, .log.2 and so on for those that were rotated
 */

import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Pod } from '../../../api/generated/types.ts';
import { dialTcp } from '../../../streams/dial/dialing.ts';
import type { LogFolder } from '../../logs/log-folder.ts';
import { ownHostname } from '../../network/hosts-file.ts';
import type { EngineContext } from '../engine/container-engine.ts';
import type { EngineContainer } from '../engine/engine-container.ts';
import { EnginePod, isScoreProblem, type NewRun, startFailure } from '../engine/engine-pod.ts';
import { identityOf, labels } from '../engine/pod-identity.ts';
import { StartFailure } from '../runtime.ts';
import { type CriApi, isGone } from './cri-api.ts';
import { containerConfig, sandboxConfig } from './cri-bodies.ts';
import { readyState } from './cri-calls.ts';
import { CriContainer } from './cri-container.ts';
import type { CriFeatures } from './cri-features.ts';
import type { SandboxConfig } from './cri-messages.ts';
import type { CriNetwork } from './cri-network.ts';

/** The state that all pods of an engine share. */
export interface CriEngine extends EngineContext {
  readonly api: CriApi;
  readonly cni: CriNetwork;
  readonly logFolder: LogFolder | undefined;
  readonly features: CriFeatures;
}

/** Timeout of making a sandbox, which may include pulling its image and calling network plugins. */
const sandboxMs = 240_000;
/**
 * containerd, when it is busy, takes 0 for the process of a running sandbox for a moment (its issue 9160): a container
 * made anew starts then.
 */
const isLostProcess = /\/proc\/0\/ns\//;
const lostProcessTries = 3;

export class CriPod extends EnginePod<CriEngine> {
  protected override get mountsImages(): boolean {
    return this.engine.features.imageMounts;
  }

  protected override get imageProblem(): string | undefined {
    if (this.mountsImages) return undefined;
    return `volumes of type image are not supported by ${this.engine.version}: containerd has them from 2.1 on, CRI-O from 1.31 on`;
  }

  override async dial(port: number): Promise<Duplex> {
    const { cni, network, address } = this.engine;
    return cni.isForeign && this.ip !== address ? dialTcp([this.ip], port) : network.dial(this.uid, port);
  }

  override async reach(port: number): Promise<Duplex> {
    const { cni, network, address } = this.engine;
    return cni.isForeign && this.ip !== address ? dialTcp([this.ip], port) : network.reach(this.uid, port);
  }

  protected override hostPortTarget(pod: Pod) {
    const isForeign = this.engine.cni.isForeign && !this.#sharesNetwork(pod);
    return isForeign ? (port: number) => ({ ip: this.ip, port }) : undefined;
  }

  override async remove(): Promise<void> {
    await super.remove();
    await this.engine.logFolder?.forget(this.uid);
  }

  protected override async startSandbox(pod: Pod, attempt: number): Promise<string> {
    const { api, calls, owner, cni, onError } = this.engine;
    await cni.prepare();
    try {
      const config = this.#sandboxConfig(pod, attempt);
      return (await api.call('RunPodSandbox', { config }, { timeoutMs: sandboxMs })).id!;
    } catch (error) {
      cni.forget();
      // A failed sandbox may remain, and its name would block the next one.
      const left = await calls.list({ [labels.node]: owner.node, [labels.podUid]: this.uid }).catch(() => []);
      for (const { id, state, labels: of } of left)
        if (state === 'ended' && identityOf(of)?.isSandbox) await calls.delete(id, true).catch(onError);
      throw new StartFailure('CreateContainerError', (error as Error).message);
    }
  }

  protected override async isSandboxRunning(id: string): Promise<boolean> {
    try {
      const { status } = await this.engine.api.call('PodSandboxStatus', { id });
      return (status?.state ?? readyState) === readyState;
    } catch (error) {
      // If the engine does not answer, nothing is known: assume that it still exists.
      if (this.engine.calls.isUnreachable(error)) return true;
      if (isGone(error)) return false;
      throw error;
    }
  }

  protected override async connect(pod: Pod, sandbox: string): Promise<string> {
    const { cni, address } = this.engine;
    await cni.prepare();
    return this.#sharesNetwork(pod) ? address : cni.connect(pod, sandbox);
  }

  protected override async startRun(wanted: NewRun, triesLeft = lostProcessTries): Promise<CriContainer> {
    const { api, owner, calls, onError, lowScores, logFolder, features } = this.engine;
    const { launch, facts, sandbox } = wanted;
    const { pod, mounts } = launch;
    if (mounts.some(({ image }) => image?.subPath) && !features.imageSubPaths)
      throw new StartFailure(
        'CreateContainerError',
        'sub paths of image volumes are not supported by the runtime',
      );
    const config = containerConfig({
      ...wanted,
      owner,
      logPath: join('containers', facts.name, `${facts.attempt}.log`),
      sharesNetwork: this.#sharesNetwork(pod),
      lowScores,
    });
    let id = '';
    try {
      const made = await api.call('CreateContainer', {
        sandbox: sandbox.id,
        config,
        sandboxConfig: this.#sandboxConfig(pod, sandbox.attempt),
      });
      id = made.id ?? '';
    } catch (error) {
      throw new StartFailure('CreateContainerError', (error as Error).message);
    }
    try {
      await api.call('StartContainer', { id });
      const { status } = await api.call('ContainerStatus', { id });
      const run = CriContainer.of(this.engine, facts, id, status ?? {}, launch.container.tty === true);
      run.show = () =>
        void logFolder?.show({ pod, container: facts.name, attempt: facts.attempt, id }, run.log.segments);
      run.log.refresh();
      run.show();
      return run;
    } catch (error) {
      const { message } = error as Error;
      await calls.delete(id, false).catch(onError);
      if (isLostProcess.test(message) && triesLeft > 0) return this.startRun(wanted, triesLeft - 1);
      if (lowScores && isScoreProblem.test(message)) {
        this.engine.lowScores = false;
        return this.startRun(wanted, triesLeft);
      }
      throw startFailure(message);
    }
  }

  protected override async forgotten(run: EngineContainer): Promise<void> {
    await (run as CriContainer).log.remove();
  }

  #sharesNetwork(pod: Pod): boolean {
    return pod.spec?.hostNetwork === true || this.engine.cni.isAbsent;
  }

  #sandboxConfig(pod: Pod, attempt: number): SandboxConfig {
    return sandboxConfig({
      owner: this.engine.owner,
      pod,
      attempt,
      hostname: ownHostname(pod),
      folder: this.folder,
      sharesNetwork: this.#sharesNetwork(pod),
    });
  }
}
