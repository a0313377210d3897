/** A dump as the state of a store: every object that it holds, under the key where the server finds it. */
import type { CustomResourceDefinition } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { isJsonObject, type JsonObject } from '../../api/text/object.ts';
import { storeKey } from '../../registry/view/key.ts';
import { checkKey, VALUE_BYTES_MAX } from '../../store/engine.ts';
import type { MemoryState } from '../../store/memory.ts';
import { type DumpFile, type DumpProblem, DumpReading } from '../archive/dump-file.ts';
import { dumpFiles } from '../archive/dump-source.ts';
import {
  builtinKind,
  CopiedKinds,
  definitionProblem,
  isEstablished,
  knownInOtherVersion,
} from './copied-kinds.ts';
import { type Found, jsonDocuments, type ListHead } from './json-documents.ts';
import { KeptLogs } from './kept-logs.ts';
import { asStorage, type NamedObject, objectProblem, Slab, storedForm, typeProblem } from './stored-form.ts';
import { UnknownKinds } from './unknown-kinds.ts';
import { yamlDocuments } from './yaml-documents.ts';

/** Objects of a dump. */
const objectsMax = 2_000_000;
/** Versions are numbers of the store; greater ones are given anew. */
const revisionMax = 2 ** 50;
/** How long reading may hold up everything else, in milliseconds. */
const sliceMs = 20;

/** What was read of a dump. */
export interface DumpSummary {
  /** Files that hold objects or logs, and bytes of all files. */
  readonly files: number;
  readonly bytes: number;
  readonly objects: number;
  /** Objects by resource, such as `pods` and `deployments.apps`. */
  readonly kinds: Readonly<Record<string, number>>;
  /** Logs of containers. */
  readonly logs: number;
  /** Objects that are in the dump more than once, and shown once. */
  readonly duplicates: number;
  /** Resources without a definition, which are served with what their objects show. */
  readonly inferred: readonly string[];
  /** Files and documents that are not shown, and why. */
  readonly problems: readonly DumpProblem[];
  /** How many these are; `problems` has the first ten thousand. */
  readonly problemCount: number;
}

export interface Dump {
  readonly state: MemoryState;
  /** Kinds for objects that no definition explains. */
  readonly kinds: readonly Kind[];
  readonly logs: KeptLogs;
  readonly summary: DumpSummary;
}

export interface DumpProgress {
  readonly objects: number;
  readonly bytes: number;
}

/** An object that waits for its kind to be known. */
interface Waiting {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly value: Buffer;
  readonly revision: number;
  readonly file: string;
}

/** Reads dumps. Rejects when one of the paths cannot be opened. */
export async function readDump(
  paths: readonly string[],
  show?: (progress: DumpProgress) => void,
): Promise<Dump> {
  const reader = new DumpReader();
  let yieldedMs = performance.now();
  for (const path of paths)
    for await (const file of dumpFiles(path, reader.reading)) {
      for (const _step of reader.take(file))
        if (performance.now() - yieldedMs > sliceMs) {
          show?.({ objects: reader.count, bytes: reader.reading.bytesRead });
          await new Promise<void>((resolve) => setImmediate(resolve));
          yieldedMs = performance.now();
        }
    }
  return reader.dump();
}

class DumpReader {
  readonly reading = new DumpReading();
  readonly #logs = new KeptLogs(this.reading);
  readonly #kinds = new CopiedKinds();
  readonly #unknown = new UnknownKinds();
  readonly #waiting: Waiting[] = [];
  readonly #slab = new Slab();
  #files = 0;

  get count(): number {
    return this.#waiting.length;
  }

  /** Reads a file; yields after every document, so that others can work in between. */
  *take({ path, bytes }: DumpFile): Generator<void> {
    const text = textOf(bytes);
    if (text === undefined) return this.reading.problem(path, 'it holds neither objects nor a log');
    if (text.length === 0) return this.reading.problem(path, 'it is empty');
    const documents = documentsOf(path, text);
    if (!documents) {
      if (!/\.(log|txt)$/.test(path)) this.reading.problem(path, 'it holds neither objects nor a log');
      else {
        this.#files++;
        this.#logs.addFile(path, text);
      }
      return;
    }
    let isUsed = false;
    for (const found of documents) {
      const why = this.#takeFound(path, found);
      if (why) this.reading.problem(path, why);
      else isUsed = true;
      yield;
    }
    if (isUsed) this.#files++;
  }

  /** Returns why it was not taken. */
  #takeFound(path: string, found: Found): string | undefined {
    if ('problem' in found) return found.problem;
    if ('log' in found) {
      this.#logs.add(found.log, path, found.bytes);
      return undefined;
    }
    const value = withListHead(found.value, found.list);
    const why = notAnObject(value) ?? objectProblem(value);
    if (why !== undefined) return why === '' ? undefined : why;
    try {
      return this.#takeObject(path, value as NamedObject);
    } catch (error) {
      const { kind, metadata } = value as NamedObject;
      return `${kind} ${metadata.name}: ${(error as Error).message.slice(0, 300)}`;
    }
  }

  #takeObject(path: string, object: NamedObject): string | undefined {
    const { apiVersion, kind: name, metadata } = object;
    const shown = `${name} ${metadata.namespace ? `${metadata.namespace}/` : ''}${metadata.name}`;
    if (this.#waiting.length >= objectsMax) return `${shown}: the dump has more than ${objectsMax} objects`;
    const names = CopiedKinds.problem(apiVersion, name);
    if (names) return `${shown}: ${names}`;
    const known = builtinKind(apiVersion, name) ?? knownInOtherVersion(apiVersion, name);
    const wrong = known && (typeProblem(known, object) ?? nameProblem(object));
    if (wrong) return `${shown}: ${wrong}`;
    const stored = known ? asStored(known, object) : object;
    const namespace = namespaceOf(known, object, path);
    const value = storedForm(stored, namespace, this.#slab);
    if (value.length > VALUE_BYTES_MAX)
      return `${shown}: it has ${value.length} bytes, a store takes ${VALUE_BYTES_MAX}`;
    if (!known) this.#unknown.note(object, path);
    this.#note(stored, namespace);
    this.#waiting.push({
      apiVersion: stored.apiVersion,
      kind: stored.kind,
      namespace,
      name: metadata.name,
      value,
      revision: revisionOf(metadata),
      file: path,
    });
    return undefined;
  }

  /** Keeps what other parts need to know of an object. */
  #note(object: NamedObject, namespace: string): void {
    const { kind, apiVersion, metadata } = object;
    if (kind === 'Pod' && apiVersion === 'v1')
      this.#logs.addPod({ namespace, name: metadata.name, containers: containersOf(object['spec']) });
    if (kind !== 'CustomResourceDefinition' || apiVersion !== 'apiextensions.k8s.io/v1') return;
    const definition = object as unknown as CustomResourceDefinition;
    if (isEstablished(definition)) this.#kinds.define(definition);
    else this.#unknown.noteDefinition(definition);
  }

  dump(): Dump {
    this.#logs.match();
    for (const unknown of this.#unknown.left(this.#kinds)) {
      const why = this.#kinds.infer(unknown);
      if (why) this.reading.problem(`${unknown.kind}.${unknown.group}`, why);
    }
    const { items, duplicates, counts } = this.#items();
    const { state } = numbered(items);
    const { problems, problemCount, bytes } = this.reading;
    return {
      state,
      kinds: this.#kinds.inferred,
      logs: this.#logs,
      summary: {
        files: this.#files,
        bytes,
        objects: items.length,
        kinds: Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1))),
        logs: this.#logs.size,
        duplicates,
        inferred: [...new Set(this.#kinds.inferred.map(resourceName))],
        problems,
        problemCount,
      },
    };
  }

  #items(): { items: Item[]; duplicates: number; counts: Map<string, number> } {
    const byKey = new Map<string, Item>();
    const counts = new Map<string, number>();
    let duplicates = 0;
    for (const { apiVersion, kind: name, ...object } of this.#waiting.splice(0)) {
      const kind = this.#kinds.find(apiVersion, name);
      if (!kind) continue;
      const namespace = kind.namespaced ? object.namespace || 'default' : '';
      const key = storeKey(kind.storage.id, namespace, object.name);
      const problem = keyProblem(key);
      if (problem) {
        this.reading.problem(object.file, problem);
        continue;
      }
      const before = byKey.get(key);
      if (before) {
        duplicates++;
        // The newer one is shown.
        if (before.revision >= object.revision) continue;
      } else counts.set(resourceName(kind), (counts.get(resourceName(kind)) ?? 0) + 1);
      byKey.set(key, { key, value: object.value, revision: object.revision });
    }
    return { items: [...byKey.values()], duplicates, counts };
  }
}

interface Item {
  readonly key: string;
  readonly value: Buffer;
  /** 0: it has no version that can be kept. */
  readonly revision: number;
}

/** Objects keep their versions where no other has the same; the others get new ones behind them. */
function numbered(items: readonly Item[]): { state: MemoryState } {
  const taken = new Set<number>();
  let newest = items.reduce((most, { revision }) => Math.max(most, revision), 0);
  const stored = items.map((item) => {
    const isFree = item.revision > 0 && !taken.has(item.revision);
    const revision = isFree ? item.revision : ++newest;
    taken.add(revision);
    return { ...item, revision };
  });
  return { state: { revision: Math.max(1, newest), items: stored } };
}

const isDefinition = ({ kind, apiVersion }: NamedObject): boolean =>
  kind === 'CustomResourceDefinition' && apiVersion.startsWith('apiextensions.k8s.io/');

const nameProblem = (object: NamedObject): string | undefined =>
  isDefinition(object) ? definitionProblem(object as unknown as CustomResourceDefinition) : undefined;

/** `pods`, `deployments.apps`. */
export const resourceName = ({ resource, group }: Kind): string =>
  group ? `${resource}.${group}` : resource;

function textOf(bytes: Buffer): Buffer | undefined {
  let text = bytes;
  // What PowerShell writes.
  if (bytes[0] === 0xff && bytes[1] === 0xfe) text = Buffer.from(bytes.toString('utf16le', 2), 'utf8');
  else if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) text = bytes.subarray(3);
  return text.subarray(0, 4_096).includes(0) ? undefined : text;
}

/** The documents of a file; undefined: it holds no objects. */
function documentsOf(path: string, text: Buffer): Iterable<Found> | undefined {
  const head = text.toString('utf8', 0, 4_096).trimStart();
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (head.startsWith('==== START logs for container ')) return jsonDocuments(text);
  // Logs may have lines that look like objects.
  if (/\.log$/.test(name)) return undefined;
  if (/^[[{]/.test(head)) return jsonDocuments(text);
  if (/\.ya?ml$/.test(name) || /^(?:#.*\n|---.*\n|\s)*(?:apiVersion|kind|items|metadata):/.test(head))
    return yamlDocuments(text.toString('utf8'));
  return undefined;
}

/** An item of a list of one kind does not say which. */
function withListHead(value: unknown, list: ListHead | undefined): unknown {
  if (!isJsonObject(value) || !list?.kind || list.kind === 'List' || !list.kind.endsWith('List'))
    return value;
  if (value['kind'] !== undefined && value['apiVersion'] !== undefined) return value;
  return { kind: list.kind.slice(0, -'List'.length), apiVersion: list.apiVersion, ...value };
}

/** Answers of servers that are no objects; '' for an empty list. */
function notAnObject(value: unknown): string | undefined {
  if (!isJsonObject(value)) return value === null ? '' : undefined;
  const { kind, message, items } = value;
  if (kind === 'Status') return `it is the answer of a server: ${String(message).slice(0, 200)}`;
  if (kind === 'Table')
    return 'it is a table, which does not hold whole objects: dump with -o yaml or -o json';
  const isList = typeof kind === 'string' && kind.endsWith('List') && value['spec'] === undefined;
  return isList && (items === null || items === undefined || Array.isArray(items)) && !hasName(value)
    ? ''
    : undefined;
}

const hasName = ({ metadata }: JsonObject): boolean =>
  isJsonObject(metadata) && metadata['name'] !== undefined && metadata['name'] !== '';

/** The object as Wherry stores its kind. */
function asStored(known: Kind, object: NamedObject): NamedObject {
  if (known.apiVersion === object.apiVersion) return asStorage(known, object);
  // A version that is not served any more differs in little else than its name.
  return { ...object, apiVersion: known.apiVersion };
}

/** The namespace of an object; one that does not say it may be in a folder that does. */
function namespaceOf(known: Kind | undefined, { metadata }: NamedObject, path: string): string {
  if (known && !known.namespaced) return '';
  const given = metadata['namespace'];
  if (typeof given === 'string' && given) return given;
  return known ? (/\/namespaces\/([^/]+)\//.exec(path)?.[1] ?? 'default') : '';
}

function revisionOf({ resourceVersion }: JsonObject): number {
  const revision = /^\d{1,16}$/.test(String(resourceVersion)) ? Number(resourceVersion) : 0;
  return revision <= revisionMax ? revision : 0;
}

function containersOf(spec: unknown): string[] {
  const { containers, initContainers, ephemeralContainers } = (spec ?? {}) as Record<
    string,
    { name?: string }[]
  >;
  return [containers, initContainers, ephemeralContainers]
    .flatMap((list) => list ?? [])
    .flatMap((one) => (typeof one?.name === 'string' ? [one.name] : []));
}

function keyProblem(key: string): string | undefined {
  try {
    checkKey(key);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
