/** A watch on the client's side: parses lines of JSON, one event each. */
import type { IncomingMessage } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { type Status, StatusError } from '../api/errors/errors.ts';
import { TextLines } from '../text-lines.ts';
import { refusal } from './refusal.ts';

/** Maximum length of an event. API servers bound their objects; this protects against other servers. */
const lineCharactersMax = 64 * 1024 * 1024;

export interface WatchHandlers<T> {
  changed(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void;
  /** Called when all events up to this version have been delivered. */
  bookmark(resourceVersion: string): void;
  /** Called once, last; without an error when the server has ended the watch. */
  ended(error: Error | undefined): void;
}

interface Line<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T & { metadata: { resourceVersion: string } } & Status;
}

export class ClientWatch<T> {
  readonly #lines = new TextLines(lineCharactersMax);
  #over = false;
  #response: IncomingMessage | undefined;

  constructor(private readonly handlers: WatchHandlers<T>) {}

  read(response: IncomingMessage): void {
    this.#response = response;
    if (this.#over) return void response.destroy();
    const decoder = new StringDecoder('utf8');
    if (response.statusCode !== 200) return this.#readRefusal(response);
    response
      .on('data', (chunk: Buffer) => this.#take(decoder.write(chunk)))
      .on('error', (error) => this.fail(error))
      .on('close', () => this.#end(undefined));
  }

  fail(error: Error): void {
    this.#end(error);
  }

  close(): void {
    this.#over = true;
    this.#response?.destroy();
  }

  #readRefusal(response: IncomingMessage): void {
    let text = '';
    response
      .setEncoding('utf8')
      .on('data', (more: string) => {
        if (text.length < lineCharactersMax) text += more;
      })
      .on('error', (error) => this.fail(error))
      .on('close', () => this.#end(refusal(response.statusCode!, text)));
  }

  #take(text: string): void {
    const lines = this.#lines.take(text);
    try {
      if (this.#lines.rest.length > lineCharactersMax) throw new Error('a watch event without an end');
      for (const line of lines) if (!this.#over && line) this.#tell(JSON.parse(line) as Line<T>);
    } catch (error) {
      this.#end(error as Error);
    }
  }

  #tell({ type, object }: Line<T>): void {
    if (type === 'BOOKMARK') this.handlers.bookmark(object.metadata.resourceVersion);
    else if (type === 'ERROR')
      this.#end(new StatusError(object.code, object.reason, object.message ?? '', object.details));
    else this.handlers.changed(type, object);
  }

  #end(error: Error | undefined): void {
    if (this.#over) return;
    this.close();
    this.handlers.ended(error);
  }
}
