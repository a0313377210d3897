/**
 * The ingress controller: a client of the API that routes external HTTP traffic to services, as ingresses say.
 *
 *   ingresses, classes, secrets → routes, certificates → listeners → endpoints of services
 *                               → addresses in statuses, events about problems
 *
 * Closing leaves statuses unchanged, because a restarted controller would write the same addresses.
 */
import type { Duplex } from 'node:stream';
import type { Ingress, IngressClass, Secret } from '../api/generated/types.ts';
import type { Client } from '../client/client.ts';
import { eventSink } from '../client/event-sink.ts';
import { EventRecorder } from '../client/events.ts';
import { Informer } from '../client/informer.ts';
import { ingressClasses, ingresses, secrets } from '../client/resources.ts';
import { Addresses } from './addresses.ts';
import { Backends, type Endpoint } from './backends.ts';
import { Certificates } from './certificates.ts';
import { defaultLimits, Listener, type ListenerLimits } from './listener.ts';
import { Routes } from './routes.ts';
import { byAge, isRerouted, isServed, type Problem } from './served.ts';
import { IngressTraffic } from './traffic.ts';

/** Changes within this time cause one rebuild. */
const rebuildMs = 20;
/**
 * After a rebuild, pause for this many times its duration: with thousands of ingresses that change
 * constantly, traffic still gets processor time.
 */
const rebuildPause = 4;
/** Skip token secrets: they are the majority, and never contain certificates. */
const secretSelector = 'type!=kubernetes.io/service-account-token';

export interface IngressControllerOptions {
  readonly client: Client;
  /** Address to listen on. */
  readonly host: string;
  /** Port for HTTP; 0 is any free one. */
  readonly port: number;
  /** Port for HTTPS; absent: no HTTPS. */
  readonly tlsPort?: number;
  /** The IP address or host name for the status of ingresses. */
  readonly address: string;
  /** Connects to an endpoint. Users write endpoints, so the address is checked before it is dialled. */
  readonly dial: (endpoint: Endpoint) => Promise<Duplex>;
  readonly now: () => number;
  readonly onError: (error: Error) => void;
  readonly limits?: Partial<ListenerLimits>;
}

export class IngressController {
  readonly #ingresses: Informer<Ingress>;
  readonly #classes: Informer<IngressClass>;
  readonly #secrets: Informer<Secret> | undefined;
  readonly #backends: Backends;
  readonly #certificates = new Certificates(() => this.#changed());
  readonly #addresses: Addresses;
  readonly #events: EventRecorder;
  readonly #http: Listener;
  readonly #https: Listener | undefined;
  #routes = new Routes();
  /** Problems that were reported and still exist. */
  #told: ReadonlySet<string> = new Set();
  #rebuild: NodeJS.Timeout | undefined;
  #rebuildMs = rebuildMs;
  /** Something has changed since the last build began. */
  #isStale = false;
  #synced = false;
  #starting: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(private readonly options: IngressControllerOptions) {
    const { client, dial, host, now, onError, port, tlsPort } = options;
    this.#addresses = new Addresses(options);
    this.#events = new EventRecorder(eventSink(client), { component: 'ingress-controller', now, onError });
    this.#backends = new Backends(client, onError);
    this.#ingresses = new Informer(client, ingresses, {
      changed: (now, before) => this.#ingressChanged(now, before),
      onError,
    });
    this.#classes = new Informer(client, ingressClasses, { changed: () => this.#classChanged(), onError });
    const traffic = new IngressTraffic({
      routes: () => this.#routes,
      backends: this.#backends,
      certificates: this.#certificates,
      tlsPort: () => this.tlsPort,
      dial,
      onError,
    });
    const common = {
      host,
      limits: { ...defaultLimits, ...options.limits },
      request: traffic.request.bind(traffic),
      upgrade: traffic.upgrade.bind(traffic),
      onError,
    };
    this.#http = new Listener({ ...common, port });
    if (tlsPort === undefined) return;
    this.#https = new Listener({ ...common, port: tlsPort, certificates: this.#certificates });
    this.#secrets = new Informer(client, secrets, {
      fieldSelector: secretSelector,
      changed: (now, before) => {
        if (this.#certificates.isNamed((now ?? before)!)) this.#changed();
      },
      onError,
    });
  }

  get port(): number {
    return this.#http.port;
  }

  get tlsPort(): number | undefined {
    return this.#https?.port;
  }

  /** Resolves when all existing objects are known and both ports are open. */
  async start(): Promise<void> {
    this.#starting = this.#start();
    try {
      await this.#starting;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async #start(): Promise<void> {
    // Classes first: they decide which ingresses are served.
    await this.#classes.start();
    await Promise.all([this.#ingresses.start(), this.#secrets?.start(), this.#backends.start()]);
    if (this.#closing) return;
    await this.#build();
    await this.#certificates.idle();
    // With the certificates whose keys were tried meanwhile.
    await this.#build();
    if (this.#closing) return;
    this.#synced = true;
    if (this.#isStale) this.#changed();
    await this.#http.listen();
    await this.#https?.listen();
  }

  /** Safe to call twice. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    clearTimeout(this.#rebuild);
    this.#ingresses.close();
    this.#classes.close();
    this.#secrets?.close();
    this.#backends.close();
    // Wait for a start under way: a port that is being opened cannot be closed yet.
    await this.#starting?.catch(() => undefined);
    await Promise.all([this.#http.close(), this.#https?.close(), this.#addresses.close()]);
    await this.#events.flushed();
  }

  #ingressChanged(now: Ingress | undefined, before: Ingress | undefined): void {
    if (!now) this.#addresses.forget(before!);
    else if (this.#isServed(now)) this.#addresses.show(now);
    else this.#addresses.hide(now, before === undefined);
    if (!now || !before || isRerouted(now, before)) this.#changed();
  }

  /** An ingress may be of another controller now, or of this one. */
  #classChanged(): void {
    for (const ingress of this.#ingresses.all())
      if (this.#isServed(ingress)) this.#addresses.show(ingress);
      else this.#addresses.hide(ingress, false);
    this.#changed();
  }

  #isServed(ingress: Ingress): boolean {
    return isServed(ingress, (name) => this.#classes.get('', name));
  }

  #changed(): void {
    this.#isStale = true;
    if (!this.#synced || this.#closing) return;
    this.#rebuild ??= setTimeout(() => {
      this.#rebuilt().catch(this.options.onError);
    }, this.#rebuildMs);
  }

  async #rebuilt(): Promise<void> {
    const from = performance.now();
    try {
      await this.#build();
    } finally {
      this.#rebuildMs = Math.max(rebuildMs, rebuildPause * (performance.now() - from));
      this.#rebuild = undefined;
    }
    if (this.#isStale) this.#changed();
  }

  async #build(): Promise<void> {
    this.#isStale = false;
    const served = byAge([...this.#ingresses.all()].filter((ingress) => this.#isServed(ingress)));
    const routes = await Routes.made(served);
    this.#routes = routes;
    const problems = [...routes.problems];
    if (this.#https) {
      const secretOf = (namespace: string, name: string) => this.#secrets!.get(namespace, name);
      problems.push(...(await this.#certificates.update(served, secretOf)));
      if (!this.#closing) this.#https.renew();
    }
    this.#tell(problems);
  }

  /** Emits an event for each new problem, and again when it reappears. */
  #tell(problems: readonly Problem[]): void {
    const told = new Set<string>();
    for (const { ingress, reason, message } of problems) {
      const key = [ingress.metadata.uid, reason, message].join('\n');
      if (told.has(key)) continue;
      told.add(key);
      if (this.#told.has(key)) continue;
      const subject = { ...ingress, apiVersion: ingresses.apiVersion, kind: 'Ingress' };
      this.#events.warning(subject, reason, message);
    }
    this.#told = told;
  }
}
