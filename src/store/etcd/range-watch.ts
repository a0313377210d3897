/**
 * A watch of a range of keys in etcd that survives lost connections: it goes on behind the last revision it has seen, at
 * whichever member is in use. It ends only when it is closed, or when etcd has compacted what comes next.
 */
import { CallError, GrpcCode } from '../../grpc/call-error.ts';
import type { CallStream, Connection } from '../../grpc/connection.ts';
import { isPassing } from './call-problem.ts';
import { isTemporary, type Members, pause } from './members.ts';
import { decodeWatch, type EtcdEvent, encodeWatch, WATCH } from './messages.ts';

export interface RangeWatchOptions {
  readonly members: Members;
  readonly start: Buffer;
  readonly end: Buffer;
  /** Only events after this revision are delivered. */
  readonly after: number;
  /** Called with each event once, in order, with all events of a revision in one call. */
  readonly onEvents: (events: readonly EtcdEvent[]) => void;
  /** Called when the watch has ended because events up to this revision are compacted. */
  readonly onCompacted: (revision: number) => void;
  /** Called when the watch has ended for another reason, and trying again does not help. */
  readonly onFailed: (error: Error) => void;
}

const RETRY_FIRST_MS = 20;
const RETRY_MAX_MS = 1000;

export class RangeWatch {
  readonly #options: RangeWatchOptions;
  #position: number;
  #over = false;
  #stream: CallStream | undefined;

  constructor(options: RangeWatchOptions) {
    this.#options = options;
    this.#position = options.after;
    void this.#run();
  }

  /** The newest revision of which all events were delivered. */
  get position(): number {
    return this.#position;
  }

  close(): void {
    this.#over = true;
    this.#stream?.close();
  }

  async #run(): Promise<void> {
    let pauseMs = RETRY_FIRST_MS;
    while (!this.#over) {
      const before = this.#position;
      try {
        const connection = await this.#options.members.connection();
        if (!this.#over) await this.#follow(connection);
      } catch (error) {
        if (this.#over) return;
        if (!isTemporary(error)) {
          this.#over = true;
          this.#options.onFailed(error as Error);
          return;
        }
      }
      if (this.#over) return;
      pauseMs = this.#position > before ? RETRY_FIRST_MS : Math.min(pauseMs * 2, RETRY_MAX_MS);
      await pause(pauseMs);
    }
  }

  /** Watches over one connection; rejects when the stream ends. */
  #follow(connection: Connection): Promise<never> {
    return new Promise((_, reject) => {
      const { start, end } = this.#options;
      this.#stream = connection.stream(WATCH, {
        message: (message) => this.#take(message),
        end: (error) => reject(error ?? new CallError(GrpcCode.unavailable, 'etcd ended the watch')),
      });
      this.#stream.write(encodeWatch(start, end, this.#position + 1));
    });
  }

  #take(message: Buffer): void {
    if (this.#over) return;
    const { canceled, compactRevision, reason, events } = decodeWatch(message);
    if (compactRevision > 0) {
      this.close();
      this.#options.onCompacted(compactRevision);
      return;
    }
    if (canceled) throw refusal(reason);
    // Some versions of etcd repeat events after a watch was resumed.
    const first = events.findIndex(({ modRevision }) => modRevision > this.#position);
    if (first < 0) return;
    this.#position = events.at(-1)!.modRevision;
    this.#options.onEvents(first === 0 ? events : events.slice(first));
  }
}

function refusal(reason: string): CallError {
  const code = reason.includes('permission denied') ? GrpcCode.permissionDenied : GrpcCode.unavailable;
  const error = new CallError(code, `etcd refused the watch: ${reason || 'no reason given'}`);
  return isPassing(error)
    ? error
    : new CallError(code, `${error.message}; check the rights of --etcd-certfile`);
}
