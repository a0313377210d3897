/** The network of pods: the address of each, how its processes run in it, and how to connect to its ports. */
import type { Duplex } from 'node:stream';
import type { Pod } from '../../api/generated/types.ts';
import { dialTcp } from '../../streams/dial/dialing.ts';

export interface PodAttachment {
  readonly ip: string;
  /** The command line that runs a command in the pod's network. */
  wrap(command: readonly string[]): string[];
}

export interface PodNetwork {
  /** Gives a pod its network. Idempotent: a pod that has one gets the same answer. */
  attach(pod: Pod): Promise<PodAttachment>;
  /**
   * Gives a pod its network in the namespace of a process that a container engine has started. Absent where pods share
   * the network of the machine.
   */
  join?(pod: Pod, pid: number): Promise<PodAttachment>;
  /** Keeps the address that a pod has had under an earlier agent, or in an earlier sandbox, until it joins. */
  reserve?(uid: string, ip: string): void;
  detach(uid: string): Promise<void>;
  /** A connection to a port, as a process inside the pod would reach it on localhost. */
  dial(uid: string, port: number): Promise<Duplex>;
  /** Called once, before `attach`: removes what an earlier agent has made for pods that no longer exist. */
  recover(bound: ReadonlySet<string>): Promise<void>;
  close(): Promise<void>;
}

/** All pods share the network of this machine, and its address. */
export class HostNetwork implements PodNetwork {
  constructor(private readonly address: string) {}

  async attach(): Promise<PodAttachment> {
    return { ip: this.address, wrap: (command) => [...command] };
  }

  async detach(): Promise<void> {
    // Nothing to release.
  }

  dial(_uid: string, port: number): Promise<Duplex> {
    return dialTcp(['127.0.0.1', '::1', this.address], port);
  }

  async recover(): Promise<void> {
    // Nothing is left by an earlier agent.
  }

  async close(): Promise<void> {
    // Nothing to close.
  }
}
