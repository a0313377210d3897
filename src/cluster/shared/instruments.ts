/**
 * Instruments: hooks by which the test kit (`src/testing/`) observes and controls a cluster. A cluster without them has
 * none of their steps, wrappers and timers.
 */
import type { Sources } from '../../registry/registry.ts';
import type { Request } from '../../registry/request.ts';
import type { Writing } from '../../registry/writing.ts';
import type { RequestObserver } from '../../server/chain/step.ts';
import type { ServerInstruments } from '../../server/server.ts';
import type { Store } from '../../store/store.ts';
import type { VersionedStoreOptions } from '../../store/versioned.ts';
import type { Timers } from '../../timers.ts';

export interface Instruments extends ServerInstruments {
  readonly sources: Sources;
  readonly timers: Timers;
  /** Opens the store, in memory. */
  openStore(options: VersionedStoreOptions): Store;
  readonly observer: RequestObserver;
  /** Called with every write of the registry. */
  onCommit(request: Request, revision: number): void;
  /** Called before anything is stored. */
  attach(writing: Writing): void;
}
