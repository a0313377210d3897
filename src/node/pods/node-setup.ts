/** Setup of pods whose containers are processes: volumes in the pod's folder, and environment variables. */
import type { Container, Node, Pod, Service } from '../../api/generated/types.ts';
import type { Client } from '../../client/client.ts';
import type { ConfigObjects } from '../environment/config-objects.ts';
import { containerEnvironment } from '../environment/pod-environment.ts';
import type { ImageCommand, PodPlace } from '../runtime/runtime.ts';
import { MountError, PodVolumes } from '../volumes/pod-volumes.ts';
import type { LaunchParts, PodSetup } from './pod-setup.ts';

/** What the node's network contributes to its pods. */
export interface NetworkAdvice {
  /** The resolv.conf a pod is to see; undefined for the machine's own. */
  resolvConf(pod: Pod): Promise<string | undefined>;
  /** Warnings about ports of the pod that are already taken. */
  portWarnings(pod: Pod): Promise<readonly string[]>;
}

export interface NodeSetupOptions {
  readonly client: Client;
  readonly objects: ConfigObjects;
  readonly node: () => Node;
  readonly services: () => readonly Service[];
  readonly hostIP: string;
  /** Default: pods see the machine's own network settings. */
  readonly network?: NetworkAdvice;
  /** Emits a warning event on the pod. */
  readonly warn: (reason: string, message: string) => void;
  readonly now: () => number;
  readonly onError: (error: Error) => void;
}

export class NodeSetup implements PodSetup {
  #volumes: PodVolumes | undefined;
  #place: PodPlace | undefined;

  constructor(
    private readonly pod: Pod,
    private readonly options: NodeSetupOptions,
  ) {}

  async prepare(place: PodPlace): Promise<void> {
    const { client, objects, node, services, hostIP, network, now, onError } = this.options;
    if (!this.#place) await this.#checkPorts();
    this.#place = place;
    this.#volumes ??= new PodVolumes({
      pod: this.pod,
      folder: place.folder,
      client,
      objects,
      node: node(),
      podIP: () => place.ip,
      hostIP,
      now,
      onError,
      services,
      resolvConf: async () => network?.resolvConf(this.pod),
      hostname: place.hostname,
      mountMemory: place.mountMemory,
      bindSubPath: place.bindSubPath,
      imageFolder: place.imageFolder,
      imageProblem: place.imageProblem,
      imageToMount: place.imageToMount,
    });
    try {
      await this.#volumes.setUp();
    } catch (error) {
      if (!(error instanceof MountError)) throw error;
      throw new Error(`MountVolume.SetUp failed for volume "${error.volume}" : ${error.message}`, {
        cause: error,
      });
    }
  }

  async parts(pod: Pod, container: Container, image: ImageCommand | undefined): Promise<LaunchParts> {
    const { objects, node, services, hostIP } = this.options;
    const environment = await containerEnvironment({
      pod,
      container,
      image,
      podIP: this.#place!.ip,
      hostIP,
      node: node(),
      services: services(),
      objects,
    });
    return { ...environment, mounts: await this.#volumes!.mounts(container, pod) };
  }

  /** Warns about taken ports. The pod starts nevertheless: it may not use the port yet. */
  async #checkPorts(): Promise<void> {
    const { network, warn, onError } = this.options;
    try {
      for (const warning of (await network?.portWarnings(this.pod)) ?? []) warn('FailedPortBinding', warning);
    } catch (error) {
      onError(error as Error);
    }
  }

  update(pod: Pod): void {
    this.#volumes?.update(pod);
  }

  async refresh(): Promise<void> {
    await this.#volumes?.refresh();
  }

  async close(): Promise<void> {
    await this.#volumes?.close();
  }
}
