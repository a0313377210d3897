/** A mirror: the objects of a collection, kept up to date by a watch, for tests that wait for a state. */
import type { Client, Json, WatchEvent, WatchReader } from '../support/http.ts';

export class Mirror {
  readonly #objects = new Map<string, Json>();
  /** All events, in order. */
  readonly events: WatchEvent[] = [];

  private constructor(private readonly reader: WatchReader) {}

  static async open(api: Client, path: string, query = ''): Promise<Mirror> {
    return new Mirror(await api.watch(`${path}?watch=true&resourceVersion=0${query && `&${query}`}`));
  }

  get objects(): Json[] {
    return [...this.#objects.values()];
  }

  /** Reads events until the objects fit, and returns them. */
  async until(fits: (objects: Json[]) => boolean): Promise<Json[]> {
    while (!fits(this.objects)) {
      let event: WatchEvent;
      try {
        event = await this.reader.next();
      } catch (error) {
        throw new Error(`${(error as Error).message}; there is ${JSON.stringify(this.objects, null, 1)}`);
      }
      this.events.push(event);
      const { name } = event.object.metadata;
      if (event.type === 'DELETED') this.#objects.delete(name);
      else this.#objects.set(name, event.object);
    }
    return this.objects;
  }

  /** Reads events until one object fits, and returns it. */
  async object(name: string, fits: (object: Json) => boolean = () => true): Promise<Json> {
    await this.until(() => this.#objects.has(name) && fits(this.#objects.get(name)));
    return this.#objects.get(name);
  }

  close(): void {
    this.reader.close();
  }
}
