/** What a container of a pod gets from its pod worker. */
import type { Pod } from '../../api/generated/types.ts';
import type { Timers } from '../../timers.ts';
import type { PodPlace, Runtime } from '../runtime/runtime.ts';
import type { BackOffTimes } from './backoff.ts';
import type { PodSetup } from './pod-setup.ts';

export type ContainerRole = 'init' | 'main' | 'ephemeral';

export interface ContainerContext {
  readonly runtime: Runtime;
  readonly setup: PodSetup;
  readonly pod: () => Pod;
  readonly place: () => PodPlace;
  readonly backOff: BackOffTimes;
  /** Length of one second of the spec in milliseconds; tests use less. */
  readonly secondMs: number;
  readonly now: () => number;
  readonly timers: Timers;
  /** Called on every change, so that the pod worker runs again. */
  readonly changed: () => void;
  /** Asks the pod worker to run again after this time. */
  readonly wakeIn: (ms: number) => void;
  readonly tell: (type: 'Normal' | 'Warning', reason: string, message: string, fieldPath: string) => void;
  readonly onError: (error: Error) => void;
}
