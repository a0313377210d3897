/** A watch that a test reads at its own pace, and whose events are all kept. */
import { get, type IncomingMessage } from 'node:http';
import type { Json } from './http.ts';

const waitMaxMs = 60_000;

export interface StreamEvent {
  readonly type: string;
  readonly object: Json;
}

export class Stream {
  readonly events: StreamEvent[] = [];
  /** Resolves when the stream has ended; true: its chunked body was complete. */
  readonly ended: Promise<boolean>;
  #over = false;
  #waiters: (() => void)[] = [];

  private constructor(private readonly response: IncomingMessage) {
    let rest = '';
    response.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop()!;
      for (const line of lines) this.events.push(JSON.parse(line) as StreamEvent);
      this.#wake();
    });
    response.on('error', () => undefined);
    this.ended = new Promise((resolve) => {
      response.on('close', () => {
        this.#over = true;
        this.#wake();
        resolve(response.complete);
      });
    });
  }

  static open(url: string): Promise<Stream> {
    return new Promise((resolve, reject) => {
      const sent = get(url, { agent: false }, (response) => {
        if (response.statusCode === 200) resolve(new Stream(response));
        else {
          response.destroy();
          reject(new Error(`${url}: ${response.statusCode}`));
        }
      });
      sent.on('error', reject);
    });
  }

  /** Pauses reading of the socket. */
  pause(): void {
    this.response.pause();
  }

  resume(): void {
    this.response.resume();
  }

  close(): void {
    this.response.destroy();
  }

  /** Resolves when the condition holds, or the stream has ended. */
  async until(condition: (events: readonly StreamEvent[]) => boolean): Promise<void> {
    const deadline = Date.now() + waitMaxMs;
    while (!condition(this.events) && !this.#over) {
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`waited for an event in vain; there are ${this.events.length}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#waiters.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  #wake(): void {
    for (const waiter of this.#waiters.splice(0)) waiter();
  }
}
