/**
 * The operator: keeps a ConfigMap with the page of every Website. A finalizer lets it remove the page before a Website
 * goes, and the status says which generation of a Website the page shows.
 */
import {
  ApiException,
  CoreV1Api,
  CustomObjectsApi,
  type Informer,
  type KubeConfig,
  makeInformer,
} from '@kubernetes/client-node';
import { finalizer, group, plural, version, type Website } from './website.ts';

const retryMs = 500;

export class WebsiteOperator {
  readonly #websites: CustomObjectsApi;
  readonly #core: CoreV1Api;
  readonly #informer: Informer<Website>;
  /** Work on each Website is done one after the other. */
  readonly #queues = new Map<string, Promise<void>>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #stopped = false;

  constructor(
    config: KubeConfig,
    private readonly log: (line: string) => void = console.log,
  ) {
    this.#websites = config.makeApiClient(CustomObjectsApi);
    this.#core = config.makeApiClient(CoreV1Api);
    this.#informer = makeInformer<Website>(config, `/apis/${group}/${version}/${plural}`, () =>
      this.#websites.listClusterCustomObject({ group, version, plural }),
    );
    this.#informer.on('add', (website) => this.#enqueue(website));
    this.#informer.on('update', (website) => this.#enqueue(website));
    this.#informer.on('error', () => this.#later(() => void this.#informer.start().catch(() => undefined)));
  }

  start(): Promise<void> {
    return this.#informer.start();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await this.#informer.stop();
    await Promise.all(this.#queues.values());
  }

  #later(action: () => void): void {
    if (this.#stopped) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      action();
    }, retryMs);
    this.#timers.add(timer);
  }

  #enqueue(website: Website): void {
    const { namespace = '', name = '' } = website.metadata!;
    const key = `${namespace}/${name}`;
    const before = this.#queues.get(key) ?? Promise.resolve();
    const work = before.then(async () => {
      if (this.#stopped) return;
      try {
        await this.#reconcile(namespace, name);
      } catch (error) {
        this.log(`${key}: ${(error as Error).message}`);
        this.#later(() => this.#enqueue(website));
      }
    });
    this.#queues.set(key, work);
    void work.then(() => {
      if (this.#queues.get(key) === work) this.#queues.delete(key);
    });
  }

  /** Works from the state the server has now, whatever the event said. */
  async #reconcile(namespace: string, name: string): Promise<void> {
    const website = await found(() =>
      this.#websites.getNamespacedCustomObject({ group, version, plural, namespace, name }),
    );
    if (!website) return;
    const { metadata, spec, status } = website as Website;
    const { deletionTimestamp, finalizers = [], generation, uid } = metadata!;
    const page = `page-${name}`;
    const place = { group, version, plural, namespace, name };
    if (deletionTimestamp) {
      if (!finalizers.includes(finalizer)) return;
      await found(() => this.#core.deleteNamespacedConfigMap({ namespace, name: page }));
      const kept = finalizers.filter((one) => one !== finalizer);
      await this.#patch(place, [{ op: 'replace', path: '/metadata/finalizers', value: kept }]);
      return this.log(`${namespace}/${name}: page removed`);
    }
    if (!finalizers.includes(finalizer))
      await this.#patch(place, [
        { op: 'add', path: '/metadata/finalizers', value: [...finalizers, finalizer] },
      ]);
    if (status?.observedGeneration === generation) return;
    const body = {
      metadata: { name: page, labels: { website: name } },
      data: { 'index.html': `<h1>${spec.title}</h1><p>${spec.text ?? ''}</p>` },
    };
    const existing = await found(() => this.#core.readNamespacedConfigMap({ namespace, name: page }));
    if (existing) await this.#core.replaceNamespacedConfigMap({ namespace, name: page, body });
    else await this.#core.createNamespacedConfigMap({ namespace, body });
    const shown = { phase: 'Ready', page, observedGeneration: generation };
    await this.#websites.patchNamespacedCustomObjectStatus({
      ...place,
      body: [
        { op: 'test', path: '/metadata/uid', value: uid },
        { op: 'add', path: '/status', value: shown },
      ],
    });
    this.log(`${namespace}/${name}: generation ${generation} is shown by ${page}`);
  }

  async #patch(place: Place, body: object[]): Promise<void> {
    await this.#websites.patchNamespacedCustomObject({ ...place, body });
  }
}

interface Place {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace: string;
  readonly name: string;
}

/** undefined when there is no such object. */
async function found<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof ApiException && error.code === 404) return undefined;
    throw error;
  }
}
