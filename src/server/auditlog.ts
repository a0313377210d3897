/**
 * The audit log: who asked for what, when, and what came of it, as JSON lines in the shape of audit.k8s.io/v1. The level
 * is Metadata: bodies are never written down. Requests are told of when they are done; those that last (watches, logs,
 * connections) also when their answer begins.
 *
 * Lines are put together by hand, in the order Kubernetes writes them: that takes a third of what JSON.stringify does.
 */
import type { Status } from '../api/errors.ts';
import { AuditFile } from './auditfile.ts';
import type { RequestContext, User } from './context.ts';
import { verbOf } from './requestinfo.ts';

/** Longer ones are cut; a request may have a mebibyte of either. */
const userAgentCharsMax = 1_024;
const uriCharsMax = 32 * 1_024;
const messageCharsMax = 1_024;
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
const allowed = JSON.stringify({
  'authorization.k8s.io/decision': 'allow',
  'authorization.k8s.io/reason': '',
});

export class AuditLog {
  readonly #users = new WeakMap<User, string>();
  #timeMs = 0;
  #time = '';

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
    const { request, info, user } = context;
    const nowMs = this.nowMs();
    const receivedMs = Math.min(Math.round(nowMs - (performance.now() - context.begunMs)), nowMs);
    const agent = request.headers['user-agent'];
    const objectRef = objectReference(context);
    return (
      `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"${context.auditId}"` +
      `,"stage":"${stage}","requestURI":${text(request.url ?? '', uriCharsMax)}` +
      `,"verb":${text(verbOf(info, context.watching), userAgentCharsMax)},"user":${this.#user(user)}` +
      `,"sourceIPs":[${context.address ? text(context.address, userAgentCharsMax) : ''}]` +
      (agent === undefined ? '' : `,"userAgent":${text(agent, userAgentCharsMax)}`) +
      (objectRef && `,"objectRef":${objectRef}`) +
      (code === 0 ? '' : `,"responseStatus":${responseStatus(code, context.failure)}`) +
      `,"requestReceivedTimestamp":"${this.#microTime(receivedMs)}","stageTimestamp":"${this.#microTime(nowMs)}"` +
      `${context.letIn ? `,"annotations":${allowed}` : ''}}\n`
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

  /** Many requests share a millisecond. */
  #microTime(ms: number): string {
    if (ms !== this.#timeMs) {
      this.#time = `${new Date(ms).toISOString().slice(0, -1)}000Z`;
      this.#timeMs = ms;
    }
    return this.#time;
  }
}

const text = (value: string, charsMax: number): string =>
  JSON.stringify(value.length > charsMax ? value.slice(0, charsMax) + cutMark : value);

function objectReference({ info: { resource: info }, objectName }: RequestContext): string {
  if (!info) return '';
  const slash = info.apiVersion.indexOf('/');
  const name = info.name ?? objectName;
  const field = (key: string, value: string | undefined): string =>
    value ? `,"${key}":${text(value, userAgentCharsMax)}` : '';
  const fields =
    field('resource', info.resource) +
    field('namespace', info.namespace) +
    field('name', name) +
    field('apiGroup', slash < 0 ? '' : info.apiVersion.slice(0, slash)) +
    field('apiVersion', info.apiVersion.slice(slash + 1)) +
    field('subresource', info.subresource);
  return `{${fields.slice(1)}}`;
}

function responseStatus(code: number, failure: Status | undefined): string {
  if (failure?.code !== code) return `{"metadata":{},"code":${code}}`;
  return (
    `{"metadata":{},"status":"Failure","message":${text(failure.message ?? '', messageCharsMax)}` +
    `${failure.reason ? `,"reason":${JSON.stringify(failure.reason)}` : ''},"code":${code}}`
  );
}
