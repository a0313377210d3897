/**
 * The log of one container, followed:
 *
 *   the stream ends        the container has ended; goes on when its state changes (`changed`)
 *   connection lost        waits for the server, and goes on after the last line that it has
 *   429, 5xx               is shown, and tried again after a pause
 *   refused                is shown, and tried again when the container's state changes
 *
 * It goes on from the time of the last line. The server answers with all lines of that moment or even that second, so
 * lines that are here already are skipped: older ones, and as many of the same time as were seen.
 */
import { askText, fetchAnswer, type Query, UnreachableError } from '../../core/api.ts';
import { Backoff } from '../../core/backoff.ts';
import { connectionLost } from '../../core/connection.ts';
import { openSocket } from '../../core/socket.ts';
import { type LogLine, plainText, splitTime } from './log-line.ts';

interface StreamOptions {
  /** The path of the pod's log. */
  readonly path: string;
  readonly container: string;
  /** What is written beside its lines, and what errors are said of. */
  readonly label: string;
  readonly previous: boolean;
  readonly follow: boolean;
  /** Lines to begin with. */
  readonly tail: number;
}

export interface LogSink {
  lines(lines: readonly LogLine[]): void;
  /** Why there is nothing more for now; undefined when lines come. */
  state(label: string, error: Error | undefined): void;
}

/** Unique in the dashboard, and in the order of arrival. */
let sequence = 0;
/** Characters of a line that has no end yet. */
const openLineMax = 1024 * 1024;

export class LogStream {
  readonly #stop = new AbortController();
  #lastTime = '';
  /** Lines seen that have the last time. */
  #lastCount = 0;
  #changed: (() => void) | undefined;
  #signature = '';

  constructor(
    private readonly source: StreamOptions,
    private readonly sink: LogSink,
  ) {
    void this.#run();
  }

  close(): void {
    this.#stop.abort();
    this.#changed?.();
  }

  /** Tells the state of the container; a log that has ended goes on when it is another. */
  changed(signature: string): void {
    if (signature === this.#signature) return;
    this.#signature = signature;
    this.#changed?.();
  }

  async #run(): Promise<void> {
    const { label, follow } = this.source;
    const { signal } = this.#stop;
    const backoff = new Backoff();
    signal.addEventListener('abort', () => backoff.reset());
    while (!signal.aborted) {
      const signature = this.#signature;
      try {
        await this.#read(() => backoff.reset());
        this.sink.state(label, undefined);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof UnreachableError) {
          await connectionLost();
          continue;
        }
        this.sink.state(label, error as Error);
        if (Backoff.helps(error)) {
          await backoff.wait(error);
          continue;
        }
      }
      if (!follow) return;
      if (signature === this.#signature)
        await new Promise<void>((resolve) => {
          this.#changed = resolve;
        });
    }
  }

  /** `accepted` is called when something comes. */
  async #read(accepted: () => void): Promise<void> {
    const { container, previous, follow, tail, path } = this.source;
    const query: Query = {
      container,
      previous,
      follow,
      timestamps: true,
      ...(this.#lastTime ? { sinceTime: this.#lastTime } : { tailLines: tail }),
    };
    // Browsers open six connections of HTTP/1.1 to a server; followed logs must not use them up.
    const bySocket = follow && location.protocol === 'http:';
    const chunks = bySocket
      ? chunksBySocket(path, query, this.#stop.signal)
      : chunksByFetch(path, query, this.#stop.signal);
    const decoder = new TextDecoder();
    let rest = '';
    const skip = { time: this.#lastTime, count: this.#lastCount };
    for await (const chunk of chunks) {
      accepted();
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop()!.slice(0, openLineMax);
      this.#take(lines, skip);
    }
    if (rest) this.#take([rest], skip);
  }

  #take(raws: readonly string[], skip: { readonly time: string; count: number }): void {
    const { label } = this.source;
    const lines: LogLine[] = [];
    for (const raw of raws) {
      if (!raw) continue;
      const { time, text } = splitTime(raw);
      if (time < skip.time) continue;
      if (time === skip.time && skip.count > 0) {
        skip.count--;
        continue;
      }
      this.#lastCount = time === this.#lastTime ? this.#lastCount + 1 : 1;
      this.#lastTime = time;
      lines.push({ time, container: label, text: plainText(text), sequence: sequence++ });
    }
    if (lines.length) this.sink.lines(lines);
  }
}

async function* chunksByFetch(path: string, query: Query, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const answer = await fetchAnswer(path, { query, accept: '*/*', signal });
  if (!answer.body) return;
  const reader = answer.body.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch((error: unknown) => {
      throw signal.aborted ? error : new UnreachableError('The connection was lost.');
    });
    if (done) return;
    yield value;
  }
}

/** Reads by a WebSocket. It does not report why it was refused, so a plain request finds the reason. */
async function* chunksBySocket(path: string, query: Query, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const socket = openSocket(path, query, ['binary.k8s.io']);
  const close = (): void => socket.close();
  signal.addEventListener('abort', close);
  let waiting: Uint8Array[] = [];
  let isOpen = false;
  let ended: number | undefined;
  let wake = (): void => undefined;
  socket.onopen = () => {
    isOpen = true;
  };
  socket.onmessage = ({ data }) => {
    waiting.push(new Uint8Array(data as ArrayBuffer));
    wake();
  };
  socket.onclose = ({ code }) => {
    ended = code;
    wake();
  };
  try {
    for (;;) {
      if (waiting.length === 0 && ended === undefined)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      const chunks = waiting;
      waiting = [];
      yield* chunks;
      if (ended === undefined || waiting.length > 0) continue;
      if (signal.aborted) throw signal.reason;
      if (!isOpen) {
        await askText(path, { query: { ...query, follow: false, limitBytes: 1 }, signal });
        throw new Error('There is nothing to follow yet.');
      }
      if (ended !== 1000) throw new UnreachableError('The connection was lost.');
      return;
    }
  } finally {
    signal.removeEventListener('abort', close);
    socket.close();
  }
}
