/**
 * Attempts: one operation of the contract on one kind. An attempt fills in the document's path, sends the
 * request, and checks what the document says of every answer: 200, JSON, pretty if requested.
 */
import { expect } from 'vitest';
import type { Body, Client, Headers, Json, Reply, WatchReader } from '../support/http.ts';
import { awayOf, type ContractKind, homeOf } from './kinds.ts';
import { editAsMergePatch, edited } from './samples.ts';

let count = 0;

export class Attempt {
  readonly namespace: string;
  readonly name: string;

  constructor(
    readonly client: Client,
    readonly kind: ContractKind,
    /** Path as in the document, with `{namespace}` and `{name}`. */
    readonly template: string,
    readonly pretty = false,
    namespace = homeOf(kind),
  ) {
    this.namespace = namespace;
    this.name = `${kind.segment}-${++count}`;
  }

  /** Another object of the kind: in the same namespace, or in another. */
  other(where: 'home' | 'away'): Attempt {
    return this.in(where === 'home' ? this.namespace : awayOf(this.kind));
  }

  in(namespace: string): Attempt {
    return new Attempt(this.client, this.kind, this.template, this.pretty, namespace);
  }

  /** Which objects the path selects. */
  get scope(): 'all' | 'namespace' | 'object' {
    if (this.template.includes('{name}')) return 'object';
    return this.template.includes('{namespace}') ? 'namespace' : 'all';
  }

  url(query: Record<string, string> = {}): string {
    const path = this.template.replace('{namespace}', this.namespace).replace('{name}', this.name);
    const text = new URLSearchParams({ ...query, ...(this.pretty ? { pretty: 'true' } : {}) }).toString();
    return text ? `${path}?${text}` : path;
  }

  async send(
    method: string,
    body?: Body,
    query: Record<string, string> = {},
    contentType?: string,
  ): Promise<Json> {
    const headers: Headers = contentType ? { 'Content-Type': contentType } : {};
    return this.answered(await this.client.request(method, this.url(query), body, headers));
  }

  answered(reply: Reply): Json {
    expect(reply.status, reply.text).toBe(200);
    expect(reply.headers['content-type']).toBe('application/json');
    expect(reply.text).toBe(
      this.pretty ? JSON.stringify(reply.body, null, 2) : `${JSON.stringify(reply.body)}\n`,
    );
    return reply.body;
  }

  // The object itself, by its plain path

  get manifest(): Json {
    const { kind, namespace, name } = this;
    return { kind: kind.kind, apiVersion: kind.apiVersion, ...kind.sample.manifest(namespace, name) };
  }

  get collectionPath(): string {
    const { prefix, segment, namespaced } = this.kind;
    return namespaced ? `${prefix}/namespaces/${this.namespace}/${segment}` : `${prefix}/${segment}`;
  }

  get path(): string {
    return `${this.collectionPath}/${this.name}`;
  }

  async create(): Promise<Json> {
    const reply = await this.client.post(this.collectionPath, this.manifest);
    expect(reply.status, reply.text).toBe(200);
    return reply.body;
  }

  async read(): Promise<Json> {
    const reply = await this.client.get(this.path);
    expect(reply.status, reply.text).toBe(200);
    return reply.body;
  }

  /** Makes the change given by the kind's sample. */
  async edit(): Promise<void> {
    const reply = await this.client.patch(this.path, editAsMergePatch(await this.read(), this.kind.sample));
    expect(reply.status, reply.text).toBe(200);
  }

  /** The stored object with the sample's change, without a resourceVersion. */
  async editedObject(): Promise<Json> {
    const object = edited(await this.read(), this.kind.sample);
    delete object.metadata.resourceVersion;
    return object;
  }

  async remove(): Promise<void> {
    const reply = await this.client.delete(this.path, deleteOptions);
    expect(reply.status, reply.text).toBe(200);
    await this.finishDelete();
  }

  /**
   * Removes what keeps a deleted object: protection finalizers, or the finalizer of an empty namespace. A
   * controller may be faster, which is fine.
   */
  async finishDelete(): Promise<void> {
    const reply = await this.client.get(this.path);
    if (reply.status === 404) return;
    expect(reply.body.metadata.deletionTimestamp, reply.text).toBeTruthy();
    await this.client.patch(this.path, { metadata: { finalizers: null } });
    if (this.kind.kind === 'Namespace')
      await this.client.put(`${this.path}/finalize`, { metadata: { name: this.name }, spec: {} });
    expect((await this.client.get(this.path)).status).toBe(404);
  }

  // Watching

  watch(query: Record<string, string>): Promise<WatchReader> {
    return this.client.watch(this.url(query));
  }
}

export const deleteOptions = {
  kind: 'DeleteOptions',
  apiVersion: 'v1',
  gracePeriodSeconds: 0,
  propagationPolicy: 'Background',
};
