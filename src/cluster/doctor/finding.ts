/** The result of a check of `wherry doctor`. */
import type { Probe } from './probe.ts';

/** `error`: `wherry up` does not start; `warning`: it will fail at some time; `note`: it can do less here. */
export const states = ['error', 'warning', 'note', 'ok'] as const;

export interface Finding {
  readonly state: (typeof states)[number];
  /** What was found. */
  readonly says: string;
  /** What follows from it. */
  readonly means?: string;
  /** What to do about it. */
  readonly remedy?: string;
}

/** What the cluster should have. */
export interface Asked {
  readonly dataDir: string;
  /** The port for plain HTTP. */
  readonly port: number;
  /** Whether nobody has named the port, so that `wherry up` takes the next free one. Default false. */
  readonly isPortOpen?: boolean;
  /** The port for HTTPS that the cluster had before, and keeps. Default: it gets any. */
  readonly securePort?: number | undefined;
}

export interface Check {
  readonly subject: string;
  /** Whether the check also runs when a cluster starts: only for checks that take no time. */
  readonly isQuick?: true;
  look(probe: Probe, asked: Asked): Promise<Finding>;
}

export const ok = (says: string): Finding => ({ state: 'ok', says });
