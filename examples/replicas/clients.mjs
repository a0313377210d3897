/** A writer and a watcher, as clients should be: after a failure they ask again, and they know what is certain. */
import { Agent, get, request } from 'node:http';

const configMaps = '/api/v1/namespaces/default/configmaps';
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Creates an object every `everyMs`, whether the ones before are answered or not. */
export class Writer {
  /** Names of acknowledged objects, in the order of their answers. */
  acknowledged = [];
  #agent = new Agent({ keepAlive: true });
  #times = [];
  #pending = new Set();

  constructor(url, everyMs) {
    this.url = url;
    let count = 0;
    this.timer = setInterval(() => {
      const writing = this.#write(`object-${String(count++).padStart(6, '0')}`);
      this.#pending.add(writing);
      void writing.finally(() => this.#pending.delete(writing));
    }, everyMs);
  }

  /** The longest time without an acknowledgement since a moment, in milliseconds. */
  longestGapSince(beginMs) {
    const times = [...this.#times.filter((time) => time >= beginMs), performance.now()];
    let last = beginMs;
    let longest = 0;
    for (const time of times) {
      longest = Math.max(longest, time - last);
      last = time;
    }
    return Math.round(longest);
  }

  async stop() {
    clearInterval(this.timer);
    await Promise.all(this.#pending);
    this.#agent.destroy();
  }

  async #write(name) {
    for (let attempt = 1; ; attempt++) {
      const status = await this.#post({ metadata: { name } }).catch(() => 0);
      // An attempt without an answer may have been carried out: then the next one finds the object.
      if (status === 200 || status === 201 || (status === 409 && attempt > 1)) break;
      await pause(50);
    }
    this.acknowledged.push(name);
    this.#times.push(performance.now());
  }

  #post(object) {
    return new Promise((resolve, reject) => {
      const headers = { 'Content-Type': 'application/json' };
      const sent = request(
        `${this.url}${configMaps}`,
        { method: 'POST', agent: this.#agent, headers },
        (answer) => {
          answer
            .resume()
            .on('end', () => resolve(answer.statusCode))
            .on('error', reject);
        },
      );
      sent.setTimeout(10_000, () => sent.destroy(new Error('no answer')));
      sent.on('error', reject).end(JSON.stringify(object));
    });
  }
}

/** Watches from a version on, and goes on where it stopped when the connection ends. */
export class Watcher {
  /** Names and versions of created objects, as they were told. */
  told = [];
  /** How often it had to connect again. */
  resumed = 0;
  #version;
  #stopped = false;

  constructor(url, version) {
    this.url = url;
    this.#version = version;
    this.done = this.#run();
  }

  static async begin(url) {
    const list = await (await fetch(`${url}${configMaps}`)).json();
    return new Watcher(url, list.metadata.resourceVersion);
  }

  async stop() {
    this.#stopped = true;
    this.response?.destroy();
    await this.done;
  }

  async #run() {
    while (!this.#stopped) {
      await this.#watch().catch(() => undefined);
      if (this.#stopped) return;
      this.resumed++;
      await pause(50);
    }
  }

  #watch() {
    return new Promise((resolve, reject) => {
      const query = `?watch=true&allowWatchBookmarks=true&resourceVersion=${this.#version}`;
      get(`${this.url}${configMaps}${query}`, { agent: false }, (response) => {
        this.response = response;
        let rest = '';
        response.setEncoding('utf8').on('data', (text) => {
          const lines = (rest + text).split('\n');
          rest = lines.pop();
          if (response.statusCode === 200) for (const line of lines) this.#take(JSON.parse(line));
        });
        response.on('close', resolve).on('error', reject);
      }).on('error', reject);
    });
  }

  #take({ type, object }) {
    if (type === 'ERROR') throw new Error(`the watch was refused: ${object.message}`);
    this.#version = object.metadata.resourceVersion;
    if (type === 'ADDED') this.told.push({ name: object.metadata.name, version: Number(this.#version) });
  }
}
