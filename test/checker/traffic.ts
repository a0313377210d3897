/**
 * The traffic: clients that create, change, delete, read, list and page through the same few objects, as
 * Kubernetes' clients do, and record the answers. The seed decides what they do; the timing is up to the
 * machine.
 */
import { Agent, request } from 'node:http';
import type { Json } from '../support/http.ts';
import { keyOf, pathOf, type Scope, type Told, textOf, versionOf } from './log.ts';
import type {
  Clock,
  Expiry,
  ListOperation,
  Operation,
  Wanted,
  WriteOperation,
  WriteOutcome,
} from './operations.ts';

export const resources = ['configmaps', 'serviceaccounts'];
export const namespaces = ['default', 'other'];
const names = ['a', 'b', 'c', 'd', 'e'];
const colours = ['red', 'green', null];
const mergePatch = 'application/merge-patch+json';
const strategicPatch = 'application/strategic-merge-patch+json';

export type Random = (bound: number) => number;

/** What all clients of a round share. */
export interface Recording {
  readonly clock: Clock;
  readonly operations: Operation[];
  readonly expiries: Expiry[];
  /** The newest version that any client has seen. */
  newest: number;
  /** The oldest version that clients ask for. */
  readonly base: number;
  /** The store may be away, so that requests end with 504. */
  readonly outages: boolean;
}

export interface Reply {
  readonly status: number;
  readonly body: Json;
}

/** The server was killed or is unreachable: the outcome of the request is unknown. */
export class Cut extends Error {}

export function send(url: string, agent: Agent, method: string, path: string, body?: object, type?: string) {
  return new Promise<Reply>((resolve, reject) => {
    const cut = (): void => reject(new Cut());
    const bytes = Buffer.from(body ? JSON.stringify(body) : '');
    // Set Content-Length: Node does so for most methods, but not for DELETE.
    const headers = body
      ? { 'Content-Type': type ?? 'application/json', 'Content-Length': String(bytes.length) }
      : {};
    const sent = request(`${url}${path}`, { method, agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('error', cut);
      // An incomplete answer counts as none.
      response.on('close', () =>
        response.complete ? resolve({ status: response.statusCode!, body: JSON.parse(text) }) : cut(),
      );
    });
    sent.on('error', cut).end(bytes);
  });
}

/** A random scope: one namespace or all, sometimes with a selector. */
export function someScope(random: Random): Scope {
  const dice = random(6);
  return {
    resource: pick(random, resources),
    ...(random(2) ? { namespace: pick(random, namespaces) } : {}),
    ...(dice < 2 ? { colour: pick(random, colours) } : dice === 2 ? { name: pick(random, names) } : {}),
  };
}

const pick = <T>(random: Random, options: readonly T[]): T => options[random(options.length)]!;

export class TrafficClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  /** Versions of objects as this client last saw them, for writes with a precondition. */
  readonly #seen = new Map<string, number>();
  #marks = 0;

  constructor(
    private readonly number: number,
    private readonly random: Random,
    private readonly recording: Recording,
  ) {}

  close(): void {
    this.#agent.destroy();
  }

  /** One operation. Throws `Cut` when the server goes away during it. */
  async step(url: string): Promise<void> {
    // One object is used most, so that writes meet in one commit.
    const isHot = this.random(3) === 0;
    const resource = isHot ? resources[0]! : this.#pick(resources);
    const place = isHot
      ? { namespace: namespaces[0]!, name: names[0]! }
      : { namespace: this.#pick(namespaces), name: this.#pick(names) };
    const path = `/api/v1/namespaces/${place.namespace}/${resource}`;
    const target = {
      url,
      path,
      item: `${path}/${place.name}`,
      key: keyOf(resource, place),
      name: place.name,
    };
    const dice = this.random(100);
    if (dice < 22) await this.#create(target);
    else if (dice < 40) await this.#update(target);
    else if (dice < 60) await this.#patch(target);
    else if (dice < 72) await this.#delete(target);
    else if (dice < 86) await this.#read(target);
    else if (dice < 93) await this.#list(url);
    else if (dice < 96) await this.#listAt(url);
    else await this.#pages(url);
  }

  /** Reads every object, and lists all of them. */
  async readAll(url: string): Promise<void> {
    for (const resource of resources) {
      await this.#list(url, { resource });
      for (const namespace of namespaces)
        for (const name of names)
          await this.#read({
            url,
            item: `/api/v1/namespaces/${namespace}/${resource}/${name}`,
            key: keyOf(resource, { namespace, name }),
          });
    }
  }

  // Writes

  #create(target: Target): Promise<void> {
    const wanted = { mark: this.#mark(), base: this.#mark(), colour: this.#pick(colours) };
    const body = { metadata: { name: target.name, ...content(wanted) } };
    return this.#write('create', target, wanted, undefined, { method: 'POST', path: target.path, body });
  }

  #update(target: Target): Promise<void> {
    const wanted = { mark: this.#mark(), base: this.#mark(), colour: this.#pick(colours) };
    const expected = this.#expected(target);
    const metadata = {
      name: target.name,
      ...content(wanted),
      ...(expected ? { resourceVersion: String(expected) } : {}),
    };
    return this.#write('update', target, wanted, expected, {
      method: 'PUT',
      path: target.item,
      body: { metadata },
    });
  }

  #patch(target: Target): Promise<void> {
    // A patch keeps fields it does not name, so that a lost update is detected.
    const wanted: Wanted = { mark: this.#mark(), ...(this.random(2) ? { colour: this.#pick(colours) } : {}) };
    const expected = this.#expected(target);
    const metadata = { ...content(wanted), ...(expected ? { resourceVersion: String(expected) } : {}) };
    return this.#write('patch', target, wanted, expected, {
      method: 'PATCH',
      path: target.item,
      body: { metadata },
      type: this.random(2) ? mergePatch : strategicPatch,
    });
  }

  #delete(target: Target): Promise<void> {
    const expected = this.#expected(target);
    const body = expected ? { preconditions: { resourceVersion: String(expected) } } : undefined;
    return this.#write('delete', target, undefined, expected, { method: 'DELETE', path: target.item, body });
  }

  async #write(
    verb: WriteOperation['verb'],
    { url, key }: Target,
    wanted: Wanted | undefined,
    expected: number | undefined,
    sent: { method: string; path: string; body: object | undefined; type?: string },
  ): Promise<void> {
    const { clock, operations } = this.recording;
    const begun = clock.tick();
    const record = (outcome: WriteOutcome, ended: number): void => {
      operations.push({
        kind: 'write',
        client: this.number,
        verb,
        key,
        wanted,
        expected,
        begun,
        ended,
        outcome,
      });
    };
    let reply: Reply;
    try {
      reply = await send(url, this.#agent, sent.method, sent.path, sent.body, sent.type);
    } catch (error) {
      record('unknown', Number.POSITIVE_INFINITY);
      throw error;
    }
    if (isOutage(this.recording, reply)) record('unknown', Number.POSITIVE_INFINITY);
    else record(this.#outcome(verb, reply, key, expected), clock.tick());
  }

  #outcome(
    verb: WriteOperation['verb'],
    { status, body }: Reply,
    key: string,
    expected: number | undefined,
  ): WriteOutcome {
    if (status === 200) {
      if (verb === 'delete')
        return { ok: true, version: undefined, uid: body.details?.uid ?? body.metadata.uid };
      this.#saw(key, versionOf(body));
      return { ok: true, version: versionOf(body), uid: body.metadata.uid, text: textOf(body) };
    }
    if (status === 404 && verb !== 'create') return { ok: false, because: 'missing' };
    if (status === 409 && verb === 'create') return { ok: false, because: 'exists' };
    if (status === 409 && expected !== undefined) return { ok: false, because: 'conflict' };
    throw new Error(`${verb} of ${key} was answered with ${status}: ${JSON.stringify(body)}`);
  }

  // Reads

  async #get(url: string, path: string): Promise<Reply> {
    const reply = await send(url, this.#agent, 'GET', path);
    if (isOutage(this.recording, reply)) throw new Cut();
    return reply;
  }

  async #read({ url, item, key }: Pick<Target, 'url' | 'item' | 'key'>): Promise<void> {
    const { clock, operations } = this.recording;
    const begun = clock.tick();
    const { status, body } = await this.#get(url, item);
    if (status !== 200 && status !== 404) throw new Error(`read of ${key}: ${JSON.stringify(body)}`);
    const found = status === 200 ? { version: versionOf(body), text: textOf(body) } : undefined;
    if (found) this.#saw(key, found.version);
    operations.push({ kind: 'read', client: this.number, key, found, begun, ended: clock.tick() });
  }

  async #list(url: string, scope = someScope(this.random)): Promise<void> {
    const { clock } = this.recording;
    const begun = clock.tick();
    const { status, body } = await this.#get(url, pathOf(scope, {}));
    if (status !== 200) throw new Error(`list: ${JSON.stringify(body)}`);
    this.#listed({ scope, begun, ended: clock.tick() }, [body], undefined, false);
  }

  /** Lists the state at a past version. */
  async #listAt(url: string): Promise<void> {
    const { clock, base, newest } = this.recording;
    const scope = someScope(this.random);
    const exact = base + this.random(newest - base + 1);
    const query = { resourceVersion: String(exact), resourceVersionMatch: 'Exact' };
    const begun = clock.tick();
    const { status, body } = await this.#get(url, pathOf(scope, query));
    if (status === 410) this.#expired('a list', exact);
    else if (status !== 200) throw new Error(`list at ${exact}: ${JSON.stringify(body)}`);
    else this.#listed({ scope, begun, ended: clock.tick() }, [body], exact, false);
  }

  /** Lists page by page, while other clients write. */
  async #pages(url: string): Promise<void> {
    const { clock } = this.recording;
    const scope = someScope(this.random);
    const limit = String(1 + this.random(4));
    const begun = clock.tick();
    const pages: Json[] = [];
    // All pages show the version of the first, so the list ended when the first page did.
    let ended = 0;
    for (let token: string | undefined = ''; token !== undefined; ) {
      const query: Record<string, string> = { limit, ...(token ? { continue: token } : {}) };
      const { status, body } = await this.#get(url, pathOf(scope, query));
      if (status === 410 && pages.length) {
        this.#expired('a page', versionOf(pages[0]));
        return this.#listed({ scope, begun, ended }, pages, undefined, true);
      }
      if (status !== 200) throw new Error(`page of a list: ${JSON.stringify(body)}`);
      pages.push(body);
      ended ||= clock.tick();
      token = body.metadata.continue || undefined;
    }
    this.#listed({ scope, begun, ended }, pages, undefined, false);
  }

  #listed(
    taken: Pick<ListOperation, 'scope' | 'begun' | 'ended'>,
    pages: readonly Json[],
    exact: number | undefined,
    cut: boolean,
  ): void {
    const { resource } = taken.scope;
    const versions = pages.map(versionOf);
    if (exact === undefined) this.recording.newest = Math.max(this.recording.newest, ...versions);
    const items = pages.flatMap((page) =>
      page.items.map(
        (item: Json): Omit<Told, 'type'> => ({
          key: keyOf(resource, item.metadata),
          version: versionOf(item),
          text: textOf(item),
        }),
      ),
    );
    this.recording.operations.push({
      kind: 'list',
      client: this.number,
      ...taken,
      versions,
      exact,
      items,
      cut,
    });
  }

  #expired(what: string, version: number): void {
    this.recording.expiries.push({ what, version, newestKnown: this.recording.newest });
  }

  #saw(key: string, version: number): void {
    this.#seen.set(key, version);
    this.recording.newest = Math.max(this.recording.newest, version);
  }

  /** Every other write has the version that this client saw last as precondition, which may be outdated. */
  #expected({ key }: Target): number | undefined {
    return this.random(2) ? this.#seen.get(key) : undefined;
  }

  /** A unique value, so that no two writes are alike. */
  #mark(): string {
    this.#marks += 1;
    return `${this.number}-${this.#marks}`;
  }

  #pick<T>(options: readonly T[]): T {
    return pick(this.random, options);
  }
}

const isOutage = ({ outages }: Recording, { status }: Reply): boolean => outages && status === 504;

interface Target {
  readonly url: string;
  readonly path: string;
  readonly item: string;
  readonly key: string;
  readonly name: string;
}

/** The body for the wanted state. Only a patch removes a label with null; whole objects leave it out. */
const content = ({ mark, base, colour }: Wanted): object => ({
  annotations: { mark, ...(base === undefined ? {} : { base }) },
  ...(colour === undefined || (colour === null && base !== undefined) ? {} : { labels: { colour } }),
});
