/**
 * Ends of HTTP/2 sessions. A client can have a hundred requests open and close its connection; to end one of them takes up
 * to half a millisecond, because its watch is given up and each write that waits fails. Node would end them all in one
 * turn of the event loop. So few end in a turn, and then Node ends the session.
 */

/** Requests that end in one turn of the event loop. */
const turnMin = 8;
/** When many wait, this part of them ends in a turn: clients who come and go faster must not fill the memory. */
const turnPart = 1 / 32;

/** HTTP/2 error code of a request that nobody waits for any more. */
const cancel = 0x08;

export interface EndingStream {
  close(code: number): void;
  destroy(): unknown;
}

interface Ending {
  readonly streams: EndingStream[];
  readonly done: () => void;
}

export class SessionEndings {
  /** The first ends first. */
  readonly #endings: Ending[] = [];
  #streams = 0;
  #isAwaited = false;

  /** @param done called when all streams have ended; at once when there are few */
  add(streams: Iterable<EndingStream>, done: () => void): void {
    const ending = { streams: [...streams], done };
    if (this.#endings.length === 0 && ending.streams.length <= 1) return end(ending.streams, done);
    this.#endings.push(ending);
    this.#streams += ending.streams.length;
    this.#await();
  }

  #await(): void {
    if (this.#isAwaited) return;
    this.#isAwaited = true;
    setImmediate(this.#goOn);
  }

  readonly #goOn = (): void => {
    this.#isAwaited = false;
    let left = Math.max(turnMin, Math.ceil(this.#streams * turnPart));
    while (left > 0 && this.#endings.length > 0) {
      const { streams, done } = this.#endings[0]!;
      const ended = streams.splice(0, left);
      // A session without streams costs something, too.
      left -= Math.max(1, ended.length);
      this.#streams -= ended.length;
      if (streams.length === 0) this.#endings.shift();
      end(ended, streams.length === 0 ? done : undefined);
    }
    if (this.#endings.length > 0) this.#await();
  };
}

function end(streams: readonly EndingStream[], done: (() => void) | undefined): void {
  for (const stream of streams) {
    stream.close(cancel);
    stream.destroy();
  }
  done?.();
}
