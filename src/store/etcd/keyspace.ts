/**
 * Where things are in etcd. Objects are below `<prefix>/`, with a slash added behind each SEPARATOR: this keeps the
 * order of keys, and a terminal shows `/registry/core/pods/default/web`. What the servers write for themselves is behind
 * the byte 0xff, which no text in UTF-8 contains, so it is after all objects and never mistaken for one.
 */
import { SEPARATOR } from '../store.ts';

const bookkeeping = Buffer.from([0xff]);

export class Keyspace {
  /** The first key under the prefix: watches begin here. */
  readonly start: Buffer;
  readonly end: Buffer;
  /** The end of the range of objects (exclusive). */
  readonly objectsEnd: Buffer;
  readonly serversStart: Buffer;
  readonly serversEnd: Buffer;
  /** Written together with each deletion, to tell who deleted and when: etcd's own event does not. */
  readonly deletion: Buffer;
  /** Written to see how far the watch is, when another program writes to the same etcd. */
  readonly progress: Buffer;
  /** A key that exists while a backup is being restored. */
  readonly restoring: Buffer;
  /** A key that never exists; heartbeats read it. */
  readonly heartbeat: Buffer;
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = `${prefix.replace(/\/+$/, '')}/`;
    this.start = Buffer.from(this.#prefix);
    this.end = Buffer.from(`${this.#prefix.slice(0, -1)}0`);
    this.objectsEnd = this.#own('');
    this.serversStart = this.#own('wherry/servers/');
    this.serversEnd = this.#own('wherry/servers0');
    this.deletion = this.#own('wherry/deletion');
    this.progress = this.#own('wherry/progress');
    this.restoring = this.#own('wherry/restoring');
    this.heartbeat = this.#own('wherry/health');
  }

  /** The bytes by which etcd knows a key or a bound of keys. */
  encode(key: string): Buffer {
    return Buffer.from(this.#prefix + key.replaceAll(SEPARATOR, `${SEPARATOR}/`));
  }

  /** The key of an object; undefined for a key that is not an object. */
  decode(key: Buffer): string | undefined {
    if (key.length <= this.start.length || key[this.start.length] === 0xff) return undefined;
    return key.toString('utf8', this.start.length).replaceAll(`${SEPARATOR}/`, SEPARATOR);
  }

  server(id: string): Buffer {
    return this.#own(`wherry/servers/${id}`);
  }

  lock(name: string): Buffer {
    return this.#own(`wherry/locks/${name}`);
  }

  isServer(key: Buffer): boolean {
    return key.compare(this.serversStart) > 0 && key.compare(this.serversEnd) < 0;
  }

  #own(name: string): Buffer {
    return Buffer.concat([this.start, bookkeeping, Buffer.from(name)]);
  }
}
