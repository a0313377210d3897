/** An API server that manifests are sent to: what it serves, what it answers, what it uses. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { exactText } from './documents.mjs';

const answerMaxMs = 60_000;
const answerBytesMax = 256 * 1024 * 1024;
const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const establishedMaxMs = 30_000;
const lookMs = 100;

/** A server of this checkout, in memory, which answers as Kubernetes does; `close` ends it. */
export async function startServer() {
  const command = path.join(import.meta.dirname, '../../dist/cli.cjs');
  const args = [command, 'serve', '--in-memory', '--port', '0', '--like', 'kubernetes', '--allow-privileged'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const stop = () => child.kill('SIGTERM');
  process.once('exit', stop);
  const ended = once(child, 'exit').finally(() => process.off('exit', stop));
  let text = '';
  for await (const chunk of child.stdout) {
    text += chunk;
    if (/http:\/\/[\d.:]+/.test(text)) break;
  }
  const [url] = /http:\/\/[\d.:]+/.exec(text) ?? [];
  if (!url) throw new Error('the server did not start');
  return new ApiServer(url, async () => {
    stop();
    await ended;
  });
}

export class ApiServer {
  #kinds = new Map();

  constructor(url, close = async () => {}) {
    this.url = url.replace(/\/$/, '');
    this.close = close;
  }

  async send(method, target, body, headers = {}) {
    const begun = performance.now();
    const response = await fetch(this.url + target, {
      method,
      body,
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(answerMaxMs),
    });
    const text = await response.text();
    if (text.length > answerBytesMax) throw new Error(`${target}: more than ${answerBytesMax} bytes`);
    return {
      status: response.status,
      body: parsed(text),
      warnings: response.headers.get('warning') ?? '',
      ms: performance.now() - begun,
    };
  }

  /** What the server uses: `{ processorMs, megabytes }`, undefined where it does not say. */
  async usage() {
    const { body } = await this.send('GET', '/metrics');
    const figure = (name) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(String(body))?.[1]);
    return {
      processorMs: figure('process_cpu_seconds_total') * 1000,
      megabytes: figure('process_resident_memory_bytes') / 1024 / 1024,
    };
  }

  /** Learns which kinds are served. */
  async discover() {
    this.#kinds.clear();
    for (const root of ['/api', '/apis']) {
      const { body } = await this.send('GET', root, undefined, { accept: aggregated });
      for (const group of body.items ?? [])
        for (const { version, resources = [] } of group.versions ?? [])
          for (const resource of resources) this.#note(group.metadata?.name, version, resource);
    }
  }

  #note(group, version, { resource, responseKind, scope, verbs }) {
    const apiVersion = group ? `${group}/${version}` : version;
    const root = group ? `/apis/${group}/${version}` : `/api/${version}`;
    const isNamespaced = scope === 'Namespaced';
    this.#kinds.set(`${apiVersion} ${responseKind?.kind}`, { resource, root, isNamespaced, verbs });
  }

  /** How a kind is served: `{ resource, root, isNamespaced, verbs }`; undefined when it is not. */
  kindOf({ apiVersion, kind }) {
    return this.#kinds.get(`${apiVersion} ${kind}`);
  }

  /**
   * Waits until definitions are established, and the versions that they have on the server are served. Returns those that
   * are not in time.
   */
  async established(definitions) {
    const deadline = performance.now() + establishedMaxMs;
    let missing = definitions;
    while (missing.length > 0 && performance.now() < deadline) {
      const { body } = await this.send('GET', definitionsPath);
      await this.discover();
      const served = new Set(
        body.items?.filter((item) => this.#serves(item)).map(({ metadata }) => metadata.name),
      );
      missing = missing.filter(({ value }) => !served.has(value.metadata.name));
      if (missing.length > 0) await new Promise((resolve) => setTimeout(resolve, lookMs));
    }
    return missing;
  }

  #serves({ spec, status }) {
    const isEstablished = status?.conditions?.some(
      (each) => each.type === 'Established' && each.status === 'True',
    );
    const versions = spec.versions.filter(({ served }) => served);
    return (
      isEstablished &&
      versions.every(({ name }) => this.#kinds.has(`${spec.group}/${name} ${spec.names.kind}`))
    );
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The ways in which an object is sent. A dry run of all comes first, so that nothing is in its way. */
export const ways = {
  'dry create': { isDry: true, create: true },
  'dry apply': { isDry: true },
  create: { create: true },
  apply: {},
};

/** The request for an object in one of the ways; undefined when its kind does not take it. */
export function requestOf({ value, body }, served, way) {
  const { isDry, create } = ways[way];
  const { name, namespace } = value.metadata ?? {};
  const folder = served.isNamespaced ? `/namespaces/${encodeURIComponent(namespace || 'default')}` : '';
  const collection = `${served.root}${folder}/${served.resource}`;
  const query = `fieldManager=corpus&fieldValidation=Strict${isDry ? '&dryRun=All' : ''}`;
  if (create) {
    if (!served.verbs.includes('create')) return undefined;
    return ['POST', `${collection}?${query}`, body, { 'content-type': 'application/json' }];
  }
  if (!name || !served.verbs.includes('patch')) return undefined;
  const target = `${collection}/${encodeURIComponent(name)}?${query}&force=true`;
  return ['PATCH', target, body, { 'content-type': 'application/apply-patch+yaml' }];
}

/** A namespace that an object names and no manifest makes. */
export function namespaceOf(name) {
  const value = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  return { file: '', value, body: exactText(value), hasPlaceholders: false };
}
