/**
 * The audit log: JSON lines in the shape of audit.k8s.io/v1 for all requests. The level is Metadata: bodies are never
 * recorded. Requests are recorded at their end; long-running ones (watches, logs, connections) also when their answer
 * starts.
 *
 * Lines are concatenated by hand, in the field order of Kubernetes, in a third of the time of JSON.stringify.
 */

import { allowed, type Decision } from '../../api/access.ts';
import type { Status } from '../../api/errors.ts';
import { stringText } from '../../api/jsontext.ts';
import type { User } from '../../api/user.ts';
import { LastMemo, Memo } from '../../memo.ts';
import type { RequestContext } from '../http/context.ts';
import { AuditFile } from './auditfile.ts';

/** Longer URLs and user agents are cut; a request may have a mebibyte of either. */
const wordCharsMax = 1_024;
const uriCharsMax = 32 * 1_024;
const cutMark = '...TRUNCATED';

/** A file of a hundred mebibytes holds some 150,000 requests. */
const fileBytesDefault = 100 * 1024 * 1024;
const backupsDefault = 10;

export interface AuditOptions {
  /** Path of the file; created when missing, otherwise appended to. */
  readonly file: string;
  /** Size at which the file is renamed and a new one started. Default 100 MiB. */
  readonly fileBytesMax?: number;
  /** Renamed files that are kept; the oldest beyond that are deleted. Default 10. */
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

export class AuditLog {
  readonly #users = new Memo(userText);
  /** Cached, because many requests share a millisecond. */
  readonly #received = new LastMemo(microTime);
  readonly #now = new LastMemo(microTime);
  /** Cached, because most requests come from few programs at few addresses. */
  readonly #agent = new LastMemo((agent: string) => text(agent, wordCharsMax));
  readonly #address = new LastMemo((address: string) => text(address, wordCharsMax));

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

  /** @param code of the answer; 0 when the client disconnected before it */
  tell(context: RequestContext, stage: Stage, code: number): void {
    this.file.append(this.#line(context, stage, code));
  }

  close(): Promise<void> {
    return this.file.close();
  }

  #line(context: RequestContext, stage: Stage, code: number): string {
    const { request, info, impersonator, address } = context;
    const user = impersonator?.user ?? context.user;
    const nowMs = this.nowMs();
    const receivedMs = Math.min(Math.round(nowMs - (performance.now() - context.begunMs)), nowMs);
    const agent = request.headers['user-agent'];
    const userAgent = agent === undefined ? '' : `,"userAgent":${this.#agent.of(agent)}`;
    const source = address === undefined ? '' : this.#address.of(address);
    const status = code === 0 ? '' : `,"responseStatus":${responseStatus(code, context.failure)}`;
    return (
      `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":${text(context.auditId, wordCharsMax)}` +
      `,"stage":"${stage}","requestURI":${text(request.url ?? '', uriCharsMax)}` +
      `,"verb":"${info.verb}","user":${this.#users.of(user)}${impersonator ? this.#impersonated(context) : ''},"sourceIPs":[${source}]` +
      `${userAgent}${objectReference(context)}${status}` +
      `,"requestReceivedTimestamp":"${this.#received.of(receivedMs)}"` +
      `,"stageTimestamp":"${this.#now.of(nowMs)}"${annotationsOf(context)}}\n`
    );
  }

  /** Whom the sender acts as, and under which constraint. */
  #impersonated({ user, impersonator }: RequestContext): string {
    const constraint = impersonator?.constraint;
    const metadata = constraint
      ? `,"authenticationMetadata":{"impersonationConstraint":${stringText(constraint)}}`
      : '';
    return `,"impersonatedUser":${this.#users.of(user)}${metadata}`;
  }
}

/** As Kubernetes writes it: empty fields are left out. */
function userText({ name, uid, groups, extra = {} }: User): string {
  return JSON.stringify({
    ...(name ? { username: name } : {}),
    ...(uid ? { uid } : {}),
    ...(groups.length ? { groups } : {}),
    ...(Object.keys(extra).length ? { extra } : {}),
  });
}

function annotationsOf(context: RequestContext): string {
  const { decision } = context;
  if (!context.hasAnnotations) {
    if (!decision) return '';
    return decision === allowed ? allowedAnnotations : `,"annotations":{${decisionText(decision)}}`;
  }
  const others = Object.entries(context.annotations).map(
    ([key, value]) => `${stringText(key)}:${text(value, wordCharsMax)}`,
  );
  return `,"annotations":{${[...others, ...(decision ? [decisionText(decision)] : [])].join(',')}}`;
}

function decisionText({ allowed: isAllowed, reason }: Decision): string {
  const decision = isAllowed ? 'allow' : 'forbid';
  return `"authorization.k8s.io/decision":"${decision}","authorization.k8s.io/reason":${text(reason, wordCharsMax)}`;
}

/** A time with microseconds, as in Kubernetes' audit events. */
const microTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, -1)}000Z`;

function text(value: string, charsMax: number): string {
  if (value.length > charsMax) return JSON.stringify(value.slice(0, charsMax) + cutMark);
  return stringText(value);
}

/** Built once, because nearly all requests are allowed. */
const allowedAnnotations = `,"annotations":{${decisionText(allowed)}}`;

function objectReference({ info: { resource: info }, objectName }: RequestContext): string {
  if (!info) return '';
  const { apiVersion, group, version, namespace, subresource } = info;
  const name = info.name ?? objectName;
  return (
    `,"objectRef":{"resource":${text(info.resource, wordCharsMax)}` +
    (namespace ? `,"namespace":${text(namespace, wordCharsMax)}` : '') +
    (name ? `,"name":${text(name, wordCharsMax)}` : '') +
    (apiVersion === version ? '' : `,"apiGroup":${text(group, wordCharsMax)}`) +
    `,"apiVersion":${text(version, wordCharsMax)}` +
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
