/** A cluster with one node for tests of runtimes, and what they ask of its pods: states, logs, commands, requests. */
import { request } from 'node:http';
import { connect } from 'node:net';
import { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { vi } from 'vitest';
import type { Container, ContainerStatus, Event, Pod, PodSpec } from '../../api/generated/types.ts';
import { Client } from '../../client/client.ts';
import { events, pods } from '../../client/resources.ts';
import { testImage } from '../../node/runtime/engine/engine.fixture.ts';
import type { SessionResult } from '../../streams/session/session.ts';
import { openRemoteCommand, remoteCommand } from '../../streams/spdy/remote-command-client.ts';
import type { Cluster } from '../cluster.ts';

const waitMaxMs = 120_000;

/** Waits until a check holds. Unlike `expect.poll`, it works in tests that run at the same time. */
export const eventually = (check: () => Promise<void>): Promise<void> =>
  vi.waitFor(check, { timeout: waitMaxMs, interval: 100 });

export interface Ran {
  readonly result: SessionResult;
  readonly stdout: string;
  readonly stderr: string;
}

/** The first container of a pod. */
export const first = (pod: Pod): ContainerStatus => pod.status?.containerStatuses?.[0] ?? {};
export const phase = (wanted: string) => (pod: Pod) => pod.status?.phase === wanted;
export const ready = (pod: Pod) => first(pod).ready === true;

export const sh = (script: string, more: Partial<Container> = {}): Container => ({
  name: 'c',
  image: testImage,
  imagePullPolicy: 'IfNotPresent',
  command: ['sh', '-c', script],
  ...more,
});

export class PodBench {
  readonly client: Client;
  /** Kills the sandbox of a pod, where it has one. */
  killSandbox: ((uid: string) => Promise<void>) | undefined;

  constructor(
    readonly cluster: Pick<Cluster, 'url'>,
    /** The class of its pods; empty for none. */
    readonly runtime: string,
    /** A folder of the machine with a file `file`, for volumes. */
    readonly hostFolder: string,
    readonly nodeName: string,
  ) {
    this.client = new Client(cluster.url);
  }

  /** Names differ between runtimes, as they share the cluster. */
  name(name: string): string {
    return this.runtime ? `${name}-${this.runtime}` : name;
  }

  create(name: string, spec: Partial<PodSpec>, metadata: Partial<Pod['metadata']> = {}): Promise<Pod> {
    return this.client.create(pods, 'default', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: this.name(name), ...metadata },
      spec: {
        ...(this.runtime ? { runtimeClassName: this.runtime } : {}),
        terminationGracePeriodSeconds: 1,
        automountServiceAccountToken: false,
        ...spec,
      },
    });
  }

  /** Changes a part of a pod, such as `resize`. */
  async change(name: string, sub: string, spec: Partial<PodSpec>): Promise<void> {
    await this.client.patch(pods, 'default', this.name(name), { spec }, 'strategic', sub);
  }

  async remove(name: string, gracePeriodSeconds = 0): Promise<void> {
    await this.client.delete(pods, 'default', this.name(name), { gracePeriodSeconds });
  }

  /** Waits until a pod is as wanted, from now on. */
  until(name: string, will: (pod: Pod) => boolean | undefined, what = 'the pod'): Promise<Pod> {
    return new Promise((resolve, reject) => {
      let last: Pod | undefined;
      const done = (finish: () => void): void => {
        clearTimeout(timer);
        watch.close();
        finish();
      };
      const timer = setTimeout(
        () =>
          done(() => reject(new Error(`${what}: not seen in time; last: ${JSON.stringify(last?.status)}`))),
        waitMaxMs,
      );
      const selection = { namespace: 'default', fieldSelector: `metadata.name=${this.name(name)}` };
      const watch = this.client.watch(pods, selection, '', {
        changed: (type, pod) => {
          last = pod;
          if (type !== 'DELETED' && will(pod)) done(() => resolve(pod));
        },
        bookmark: () => undefined,
        ended: () => undefined,
      });
    });
  }

  /** Runs a pod to its end. */
  async finish(name: string, spec: Partial<PodSpec>): Promise<Pod> {
    await this.create(name, { restartPolicy: 'Never', ...spec });
    return this.until(name, (pod) => phase('Succeeded')(pod) || phase('Failed')(pod));
  }

  async events(name: string): Promise<Event[]> {
    const fieldSelector = `involvedObject.name=${this.name(name)}`;
    return (await this.client.list(events, { namespace: 'default', fieldSelector })).items;
  }

  /** Waits for an event of a pod whose text contains this. */
  async event(name: string, text: string): Promise<Event> {
    for (const endMs = performance.now() + waitMaxMs; performance.now() < endMs; ) {
      const found = (await this.events(name)).find(({ message }) => message?.includes(text));
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(
      `no event with ${text}: ${JSON.stringify((await this.events(name)).map((one) => one.message))}`,
    );
  }

  log(name: string, query = ''): Promise<string> {
    return this.get(`/api/v1/namespaces/default/pods/${this.name(name)}/log?${query}`);
  }

  get(path: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const sent = request(new URL(path, this.cluster.url), { agent: false });
      sent.on('error', reject).on('response', (response) => text(response).then(resolve, reject));
      sent.end();
    });
  }

  exec(name: string, command: readonly string[], stdin?: string, tty = false): Promise<Ran> {
    const query = command.map((word) => `command=${encodeURIComponent(word)}`).join('&');
    return this.#session(name, `exec?container=c&${query}`, stdin, tty);
  }

  attach(name: string, stdin?: string): Promise<Ran> {
    return this.#session(name, 'attach?', stdin, false);
  }

  async #session(name: string, path: string, stdin: string | undefined, tty: boolean): Promise<Ran> {
    const said = { stdout: '', stderr: '' };
    const sink = (stream: 'stdout' | 'stderr'): Writable =>
      new Writable({
        write(chunk: Buffer, _encoding, next) {
          said[stream] += chunk.toString();
          next();
        },
      });
    const wish = { stdin: stdin !== undefined, stdout: true, stderr: !tty, tty };
    const flags = Object.entries(wish).map(([key, value]) => `${key}=${value}`);
    const { port, hostname } = new URL(this.cluster.url);
    const open = () =>
      openRemoteCommand(async () => connect({ port: Number(port), host: hostname }), {
        method: 'POST',
        path: `/api/v1/namespaces/default/pods/${this.name(name)}/${path}&${flags.join('&')}`,
        headers: [['Host', 'localhost']],
      });
    const result = await remoteCommand(
      open,
      wish,
    )({
      tty,
      stdin: stdin === undefined ? undefined : Readable.from([Buffer.from(stdin)]),
      stdout: sink('stdout'),
      stderr: tty ? undefined : sink('stderr'),
      onResize: (listener) => listener({ width: 77, height: 33 }),
      gone: new AbortController().signal,
    });
    return { result, ...said };
  }
}
