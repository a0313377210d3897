/** What a session needs of the lane that it belongs to. */
import type { FairShare } from '../../access/fairness/fair-share.ts';
import type { TurnQueue } from '../../turn-queue.ts';
import type { Sheets } from '../lane/sheets.ts';
import type { Session } from './session.ts';
import type { StreamRequest } from './stream-request.ts';
import type { StreamResponse } from './stream-response.ts';

export interface SessionKeeper {
  readonly streamsMax: number;
  /** Time in which a client has to send its preface and its settings. */
  readonly openingMs: number;
  readonly sheets: Sheets;
  /** Bytes of headers that are not complete, by address. */
  readonly heads: FairShare;
  readonly endings: TurnQueue;
  /** Whether a further frame may be read in this turn of the event loop; counts it. */
  hasRoom(): boolean;
  /** Counts a request that begins or ends in this turn. */
  note(): void;
  /** Calls the session in a later turn. */
  await(session: Session): void;
  receive(session: Session, request: StreamRequest, response: StreamResponse): void;
  departed(session: Session): void;
}
