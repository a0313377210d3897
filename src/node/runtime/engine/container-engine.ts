/** The interface to a container engine, for the code that all engines share. */
import type { PodNetwork } from '../../network/pod-network.ts';
import type { Spawner } from '../../process/spawner.ts';
import type { MemoryMounts } from '../memory-mounts.ts';
import type { EngineImages } from './engine-images.ts';
import type { Owner } from './pod-identity.ts';

/** A container or a sandbox that an engine has. */
export interface FoundContainer {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly state: 'created' | 'running' | 'ended';
  /** The id of the image that the container was made from. */
  readonly imageId: string;
  /** The id of the sandbox that a container is in; empty for sandboxes, and for containers of others. */
  readonly sandbox: string;
}

export interface EngineCalls {
  /** The containers and sandboxes with all of these labels. */
  list(wanted: Readonly<Record<string, string>>): Promise<FoundContainer[]>;
  /** Kills and removes one; ignores one that no longer exists. */
  delete(id: string, isSandbox: boolean): Promise<void>;
  /** A folder on the disk with the images; empty when it is not known. */
  imageFolder(): Promise<string>;
  /** Removes an image unless it is in use or has several names; returns whether it is gone. */
  removeImage(id: string): Promise<boolean>;
  /** Whether a call has failed because the engine does not answer: then nothing is known about its containers. */
  isUnreachable(error: unknown): boolean;
}

/** Reports when containers may have ended. */
export interface EndEvents {
  /** Calls `look` when a container may have ended, or when it is not known whether it has. */
  watch(id: string, look: () => void): void;
  forget(id: string): void;
  close(): void;
}

/** The state that all pods of an engine share, apart from the engine itself. */
export interface EngineBase {
  readonly owner: Owner;
  readonly network: PodNetwork;
  /** The address of the node, for pods that share its network. */
  readonly address: string;
  /** The folder of the runtime. */
  readonly folder: string;
  readonly spawner: Spawner;
  readonly memory: MemoryMounts;
  /**
   * Whether processes may get a negative OOM score, which protects them when memory is short; not allowed everywhere.
   */
  lowScores: boolean;
  /** Whether containers run on another or a virtual machine, so that their namespaces cannot be entered. */
  isElsewhere: boolean;
  readonly now: () => number;
  readonly onError: (error: Error) => void;
}

export interface EngineContext extends EngineBase {
  readonly version: string;
  readonly calls: EngineCalls;
  readonly events: EndEvents;
  readonly images: EngineImages;
}
