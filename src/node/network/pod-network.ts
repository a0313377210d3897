/** The network of pods: the address of each, how its processes run in it, and how to connect to its ports. */
import type { Duplex } from 'node:stream';
import type { Pod } from '../../api/generated/types.ts';
import { dialTcp } from '../../streams/dial/dialing.ts';
import { isOwnAddress, machineAddress } from '../machine/machine-address.ts';

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
  /** A connection to a port, as a process inside the pod would reach it on localhost; for port-forward. */
  dial(uid: string, port: number): Promise<Duplex>;
  /** A connection to a port at the address of the pod, as other pods reach it; never to its loopback address. */
  reach(uid: string, port: number): Promise<Duplex>;
  /** Called once, before `attach`: removes what an earlier agent has made for pods that no longer exist. */
  recover(bound: ReadonlySet<string>): Promise<void>;
  close(): Promise<void>;
}

/**
 * Where pods are reached that share the network of this machine: at the address of the node, or at the one that the
 * machine has now, if it has moved to another network since the node was started.
 */
export const sharedAddress = (address: string): string =>
  isOwnAddress(address) ? address : machineAddress();

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

  reach(_uid: string, port: number): Promise<Duplex> {
    return dialTcp([sharedAddress(this.address)], port);
  }

  async recover(): Promise<void> {
    // Nothing is left by an earlier agent.
  }

  async close(): Promise<void> {
    // Nothing to close.
  }
}
