/** Setup of pods whose containers are processes: volumes in the pod's folder, variables from the cluster. */
import type { Container, Node, Pod, Service } from '../api/generated/types.ts';
import type { Client } from '../client/client.ts';
import type { ConfigObjects } from './configobjects.ts';
import { containerEnvironment } from './podenvironment.ts';
import type { LaunchParts, PodSetup } from './podsetup.ts';
import { MountError, PodVolumes } from './podvolumes.ts';
import type { ImageCommand, PodPlace } from './runtime.ts';

export interface NodeSetupOptions {
  readonly client: Client;
  readonly objects: ConfigObjects;
  readonly node: () => Node;
  readonly services: () => readonly Service[];
  readonly hostIP: string;
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
    const { client, objects, node, services, hostIP, now, onError } = this.options;
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

  async parts(container: Container, image: ImageCommand): Promise<LaunchParts> {
    const { objects, node, services, hostIP } = this.options;
    const environment = await containerEnvironment({
      pod: this.pod,
      container,
      image,
      podIP: this.#place!.ip,
      hostIP,
      node: node(),
      services: services(),
      objects,
    });
    return { ...environment, mounts: await this.#volumes!.mounts(container) };
  }

  async refresh(): Promise<void> {
    await this.#volumes?.refresh();
  }

  async close(): Promise<void> {
    await this.#volumes?.close();
  }
}
