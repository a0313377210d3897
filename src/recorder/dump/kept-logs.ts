/**
 * Logs of containers that ran elsewhere. The files of a dump are matched with its pods by the parts of their paths, which
 * name namespace, pod and container in all layouts: those of must-gather and support bundles, and that of a node.
 */
import { badRequest } from '../../api/errors/errors.ts';
import type { KeptLogSource } from '../../server/pods/kept-log.ts';
import type { DumpReading } from '../archive/dump-file.ts';
import type { LogName } from './json-documents.ts';

/** Bytes of all logs that are kept. */
const logBytesMax = 512 * 1024 * 1024;

/** Words of a path that are compared with namespaces and pods. */
const wordsMax = 200;

/** A pod, as far as logs need it. */
export interface LoggedPod {
  readonly namespace: string;
  readonly name: string;
  readonly containers: readonly string[];
}

/** The lines of containerd and CRI-O: time, stream, whether the line ends, text. */
const criLine = /^\d{4}-\d\d-\d\dT\S+ (?:stdout|stderr) [FP] /;
/** The times that kubelets write before lines have nine digits behind the point; programs write fewer. */
const timedLine = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}(?:Z|[+-]\d\d:\d\d)) /;

interface KeptLog {
  readonly text: string;
  /** Each line begins with its time. */
  readonly isTimed: boolean;
}

export class KeptLogs implements KeptLogSource {
  readonly #logs = new Map<string, Buffer>();
  readonly #unmatched: { readonly path: string; readonly bytes: Buffer }[] = [];
  readonly #podsByName = new Map<string, Map<string, LoggedPod>>();
  #bytes = 0;

  constructor(private readonly reading: DumpReading) {}

  /** How many there are. */
  get size(): number {
    return this.#logs.size;
  }

  addPod(pod: LoggedPod): void {
    const ofName = this.#podsByName.get(pod.name) ?? new Map<string, LoggedPod>();
    this.#podsByName.set(pod.name, ofName.set(pod.namespace, pod));
  }

  /** A log whose container is named in the dump. */
  add({ namespace, pod, container }: LogName, path: string, bytes: Buffer, isPrevious = false): void {
    if (!this.#hasRoom(path, bytes)) return;
    this.#logs.set(keyOf(namespace, pod, container, isPrevious), Buffer.from(bytes));
  }

  /** A file that seems to be a log; which one is found out when all pods are known. */
  addFile(path: string, bytes: Buffer): void {
    if (this.#hasRoom(path, bytes)) this.#unmatched.push({ path, bytes: Buffer.from(bytes) });
  }

  #hasRoom(path: string, { length }: Buffer): boolean {
    const fits = this.#bytes + length <= logBytesMax;
    if (fits) this.#bytes += length;
    else this.reading.problem(path, `there are more than ${logBytesMax} bytes of logs`);
    return fits;
  }

  /** Finds the containers of log files. */
  match(): void {
    for (const { path, bytes } of this.#unmatched.splice(0)) {
      const found = this.#containerOf(path);
      if (found) this.#logs.set(found, bytes);
      else this.reading.problem(path, 'it is the log of no container in the dump');
    }
  }

  #containerOf(path: string): string | undefined {
    const file = path.slice(path.lastIndexOf('/') + 1).replace(/\.(log|txt)$/, '');
    const isPrevious = /(^|[-_.])previous/.test(file);
    const stem = file.replace(/[-_.]?(previous|current)(\.insecure)?$/, '');
    const parts = [...path.split('/').slice(0, -1), stem].flatMap((part) => [part, ...part.split('_')]);
    const named = new Set(parts.slice(-wordsMax));
    for (const part of named)
      for (const { namespace, name, containers } of this.#podsNamed(part, named)) {
        const container =
          containers.find((one) => named.has(one) && one !== name && one !== namespace) ??
          containers.find((one) => named.has(one) || stem.startsWith(`${one}-`)) ??
          (containers.length === 1 ? containers[0] : undefined);
        if (container !== undefined) return keyOf(namespace, name, container, isPrevious);
      }
    return undefined;
  }

  /** Pods of a name in one of the namespaces. Thousands may have the same. */
  *#podsNamed(name: string, namespaces: ReadonlySet<string>): Generator<LoggedPod> {
    const ofName = this.#podsByName.get(name);
    if (!ofName) return;
    for (const namespace of namespaces) {
      const pod = ofName.get(namespace);
      if (pod) yield pod;
    }
  }

  read(namespace: string, pod: string, container: string, query: URLSearchParams): Buffer {
    const isPrevious = query.get('previous') === 'true';
    const bytes = this.#logs.get(keyOf(namespace, pod, container, isPrevious));
    if (!bytes)
      throw badRequest(
        `${isPrevious ? 'previous terminated ' : ''}container "${container}" in pod "${pod}": the dump has no log of it`,
      );
    return selected(readLog(bytes), query);
  }
}

const keyOf = (namespace: string, pod: string, container: string, isPrevious: boolean): string =>
  [namespace, pod, container, isPrevious ? 'previous' : ''].join('/');

function readLog(bytes: Buffer): KeptLog {
  const text = bytes.toString('utf8');
  if (!criLine.test(text)) return { text, isTimed: timedLine.test(text) };
  // A line that does not end goes on in the next one.
  const joined = text.replace(
    /^(\S+) (?:stdout|stderr) ([FP]) ([^\n]*)(\n|$)/gm,
    (_line, time: string, mark: string, rest: string) => `${time} ${rest}${mark === 'P' ? '\u0000' : '\n'}`,
  );
  return { text: joined.replace(/\u0000(?:\S+ )?/g, ''), isTimed: true };
}

/** What `kubectl logs` asks for, of a log that has ended. */
function selected({ text, isTimed }: KeptLog, query: URLSearchParams): Buffer {
  const [sinceTime, sinceSeconds] = [query.get('sinceTime'), query.get('sinceSeconds')];
  const wantsTimes = query.get('timestamps') === 'true';
  if (!isTimed && (wantsTimes || sinceTime || sinceSeconds))
    throw badRequest('the lines of this log have no times in the dump');
  let lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const timeOf = (line: string): number => Date.parse(line.slice(0, line.indexOf(' ')));
  const lastMs = Math.max(0, timeOf(lines.findLast((line) => !Number.isNaN(timeOf(line))) ?? ''));
  // Seconds count back from the last line: the dump was made then.
  const fromMs = sinceTime
    ? Date.parse(sinceTime)
    : sinceSeconds
      ? lastMs - Number(sinceSeconds) * 1_000
      : undefined;
  if (fromMs !== undefined) lines = lines.filter((line) => !(timeOf(line) < fromMs));
  const tail = query.get('tailLines');
  if (tail !== null) lines = Number(tail) === 0 ? [] : lines.slice(-Number(tail));
  if (isTimed && !wantsTimes) lines = lines.map((line) => line.replace(/^\d{4}-\d\d-\d\dT\S+ ?/, ''));
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
  const limit = query.get('limitBytes');
  return limit === null ? bytes : bytes.subarray(0, Number(limit));
}
