/** The network of pods: the address each has, and how its processes and those who want to talk to them get there. */
import type { Duplex } from 'node:stream';
import type { Pod } from '../../api/generated/types.ts';
import { dialTcp } from '../../streams/dialing.ts';

export interface PodAttachment {
  readonly ip: string;
  /** The command line that runs a command in the pod's network. */
  wrap(command: readonly string[]): string[];
}

export interface PodNetwork {
  /** Gives a pod its network. One that has it already is answered again. */
  attach(pod: Pod): Promise<PodAttachment>;
  detach(uid: string): Promise<void>;
  /** A connection to a port, as a process of the pod would get it at its own loopback address. */
  dial(uid: string, port: number): Promise<Duplex>;
  /** Called once, first: lets go of what an earlier agent has made for pods that are gone. */
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
    // There is nothing to give back.
  }

  dial(_uid: string, port: number): Promise<Duplex> {
    return dialTcp(['127.0.0.1', '::1', this.address], port);
  }

  async recover(): Promise<void> {
    // Nothing is ever left.
  }

  async close(): Promise<void> {
    // There is nothing to let go of.
  }
}
