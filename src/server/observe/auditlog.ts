/**
 * The audit log: who asked for what, when, and what came of it, as JSON lines in the shape of audit.k8s.io/v1. The level
 * is Metadata: bodies are never written down. Requests are told of when they are done; those that last (watches, logs,
 * connections) also when their answer begins.
 *
 * Lines are put together by hand, in the order Kubernetes writes them: that takes a third of what JSON.stringify does.
 */
import type { Status } from '../../api/errors.ts';
import type { User } from '../../api/user.ts';
import type { RequestContext } from '../http/context.ts';
import { verbOf } from '../http/requestinfo.ts';
import { AuditFile } from './auditfile.ts';

/** Longer ones are cut; a request may have a mebibyte of either. */
const wordCharsMax = 1_024;
const uriCharsMax = 32 * 1_024;
const cutMark = '...TRUNCATED';

/** A file of a hundred mebibytes holds some 150,000 requests. */
const fileBytesDefault = 100 * 1024 * 1024;
const backupsDefault = 10;

export interface AuditOptions {
  readonly file: string;
  /** A file that would grow beyond this is put aside. Default 100 MiB. */
  readonly fileBytesMax?: number;
  /** Files put aside that are kept. Default 10. */
  readonly backupsMax?: number;
}

/** Rejects when the file cannot be written. */
export async function openAuditLog(
  { file, fileBytesMax = fileBytesDefault, backupsMax = backupsDefault }: AuditOptions,
  nowMs: () => number,
  report: (error: Error) => void,
): Promise<AuditLog> {
  const options = { file, bytesMax: fileBytesMax, backupsMax, nowMs, report };
  return new AuditLog(await AuditFile.open(options), nowMs);
}

export type Stage = 'ResponseStarted' | 'ResponseComplete';

/** Everybody who comes through the local door may do everything. */
const allowed = ',"annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":""}';

export class AuditLog {
  readonly #users = new WeakMap<User, string>();
  readonly #received = new MicroTime();
  readonly #now = new MicroTime();
  /** Most requests come from few programs at few places. */
  readonly #agent = new LastText();
  readonly #address = new LastText();

  constructor(
    private readonly file: AuditFile,
    private readonly nowMs: () => number,
  ) {}

  get events(): number {
    return this.file.written;
  }

  get dropped(): number {
    return this.file.dropped;
  }

  /** @param code of the answer; 0 when the client left before there was one */
  tell(context: RequestContext, stage: Stage, code: number): void {
    this.file.append(this.#line(context, stage, code));
  }

  close(): Promise<void> {
    return this.file.close();
  }

  #line(context: RequestContext, stage: Stage, code: number): string {
    const { request, info, user, address } = context;
    const nowMs = this.nowMs();
    const receivedMs = Math.min(Math.round(nowMs - (performance.now() - context.begunMs)), nowMs);
    const agent = request.headers['user-agent'];
    const userAgent = agent === undefined ? '' : `,"userAgent":${this.#agent.of(agent)}`;
    const source = address === undefined ? '' : this.#address.of(address);
    const status = code === 0 ? '' : `,"responseStatus":${responseStatus(code, context.failure)}`;
    return (
      `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"${context.auditId}"` +
      `,"stage":"${stage}","requestURI":${text(request.url ?? '', uriCharsMax)}` +
      `,"verb":"${verbOf(info, context.watching)}","user":${this.#user(user)},"sourceIPs":[${source}]` +
      `${userAgent}${objectReference(context)}${status}` +
      `,"requestReceivedTimestamp":"${this.#received.format(receivedMs)}"` +
      `,"stageTimestamp":"${this.#now.format(nowMs)}"${context.letIn ? allowed : ''}}\n`
    );
  }

  #user(user: User): string {
    let known = this.#users.get(user);
    if (known === undefined) {
      known = JSON.stringify({ username: user.name, groups: user.groups });
      this.#users.set(user, known);
    }
    return known;
  }
}

/** Times with microseconds, as Kubernetes writes them here. Many requests share a millisecond. */
class MicroTime {
  #ms = Number.NaN;
  #text = '';

  format(ms: number): string {
    if (ms !== this.#ms) {
      this.#text = `${new Date(ms).toISOString().slice(0, -1)}000Z`;
      this.#ms = ms;
    }
    return this.#text;
  }
}

class LastText {
  #value = '';
  #text = '""';

  of(value: string): string {
    if (value !== this.#value) {
      this.#text = text(value, wordCharsMax);
      this.#value = value;
    }
    return this.#text;
  }
}

/** Text without anything that JSON would have to escape; for short texts this is quicker than to have it looked for. */
const plain = /^[ !#-[\]-~]*$/;

function text(value: string, charsMax: number): string {
  if (value.length > charsMax) return JSON.stringify(value.slice(0, charsMax) + cutMark);
  return plain.test(value) ? `"${value}"` : JSON.stringify(value);
}

function objectReference({ info: { resource: info }, objectName }: RequestContext): string {
  if (!info) return '';
  const { apiVersion, namespace, subresource } = info;
  const slash = apiVersion.indexOf('/');
  const name = info.name ?? objectName;
  return (
    `,"objectRef":{"resource":${text(info.resource, wordCharsMax)}` +
    (namespace ? `,"namespace":${text(namespace, wordCharsMax)}` : '') +
    (name ? `,"name":${text(name, wordCharsMax)}` : '') +
    (slash < 0 ? '' : `,"apiGroup":${text(apiVersion.slice(0, slash), wordCharsMax)}`) +
    `,"apiVersion":${text(apiVersion.slice(slash + 1), wordCharsMax)}` +
    `${subresource ? `,"subresource":${text(subresource, wordCharsMax)}` : ''}}`
  );
}

function responseStatus(code: number, failure: Status | undefined): string {
  if (failure?.code !== code) return `{"metadata":{},"code":${code}}`;
  return (
    `{"metadata":{},"status":"Failure","message":${text(failure.message ?? '', wordCharsMax)}` +
    `${failure.reason ? `,"reason":${JSON.stringify(failure.reason)}` : ''},"code":${code}}`
  );
}
