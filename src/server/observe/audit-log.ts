/**
 * The audit log: JSON lines in the shape of audit.k8s.io/v1. A policy says which requests are recorded, at which stages and
 * with which objects (`audit-policy.ts`). Without one all are, at the level Metadata: at their end, and long-running ones
 * (watches, logs, connections) also when their answer starts.
 *
 * Lines are concatenated by hand, in the field order of Kubernetes, in a third of the time of JSON.stringify.
 */

import { internal, type Status } from '../../api/errors/errors.ts';
import { allowed, type Decision } from '../../api/kind/access.ts';
import type { User } from '../../api/values/user.ts';
import { LastMemo, Memo } from '../../memo.ts';
import type { RequestContext } from '../http/context.ts';
import { AuditFile } from './audit-file.ts';
import type { AuditPolicy, Stage } from './audit-policy.ts';
import { AuditRecord } from './audit-record.ts';
import type { AuditBackend, AuditMode, AuditSink } from './audit-sink.ts';
import { AuditStream } from './audit-stream.ts';
import type { AuditWebhookOptions } from './audit-webhook.ts';
import { LegacyAudit } from './legacy-audit.ts';
import { sourceIPs } from './source-ips.ts';

/** Longer URLs and user agents are cut; a request may have a mebibyte of either. */
const wordCharsMax = 1_024;
const uriCharsMax = 32 * 1_024;
const annotationCharsMax = 16 * 1_024;
const cutMark = '...TRUNCATED';
const cutAnnotation = 'audit.k8s.io/truncated';

/** A file of a hundred mebibytes holds some 150,000 requests. */
const fileBytesDefault = 100 * 1024 * 1024;
const backupsDefault = 10;

export interface AuditOptions {
  /** Path of the file; created when missing, otherwise appended to. `-`: standard output. Default: no file. */
  readonly file?: string;
  /** Size at which the file is renamed and a new one started. Default 100 MiB. */
  readonly fileBytesMax?: number;
  /** Renamed files that are kept; the oldest beyond that are deleted. Default 10. */
  readonly backupsMax?: number;
  /** Age at which renamed files are deleted. Default: no age. */
  readonly fileAgeMaxMs?: number;
  /** `legacy`: a line of names and values for each event. Default `json`. */
  readonly fileFormat?: 'json' | 'legacy';
  /** Whether requests wait for the file. Default `batch`. */
  readonly fileMode?: AuditMode;
  /** A server that events are sent to. Default: none. */
  readonly webhook?: AuditWebhookOptions;
  /** File of the audit policy. Default: all requests are recorded, without objects. */
  readonly policyFile?: string;
}

/** Rejects when the file cannot be written, or the webhook's configuration not be read. */
export async function openAuditLog(
  options: AuditOptions,
  nowMs: () => number,
  report: (error: Error) => void,
  policy?: AuditPolicy,
): Promise<AuditLog> {
  const { file, fileMode = 'batch', fileFormat, webhook } = options;
  const backends: AuditBackend[] = [];
  if (webhook) {
    const { openAuditWebhook } = await import('./audit-webhook.ts');
    const sink = await openAuditWebhook(webhook, report);
    backends.push({ plugin: 'webhook', sink, mode: webhook.mode ?? 'batch' });
  }
  if (file !== undefined) {
    const sink = await fileSink(file, options, nowMs, report);
    backends.unshift({
      plugin: 'log',
      sink: fileFormat === 'legacy' ? new LegacyAudit(sink) : sink,
      mode: fileMode,
    });
  }
  return new AuditLog(backends, nowMs, policy);
}

async function fileSink(
  file: string,
  { fileBytesMax = fileBytesDefault, backupsMax = backupsDefault, fileAgeMaxMs }: AuditOptions,
  nowMs: () => number,
  report: (error: Error) => void,
): Promise<AuditSink> {
  if (file === '-') return new AuditStream(process.stdout);
  return AuditFile.open({ file, bytesMax: fileBytesMax, backupsMax, ageMaxMs: fileAgeMaxMs, nowMs, report });
}

export class AuditLog {
  readonly #isBlocking: boolean;
  readonly #users = new Memo(userText);
  /** Cached text of a time, because many requests share a millisecond. */
  readonly #received = new LastMemo(microTime);
  readonly #now = new LastMemo(microTime);
  /** Cached text of a user agent or address, because most requests come from few programs. */
  readonly #agent = new LastMemo((agent: string) => text(agent, wordCharsMax));
  readonly #address = new LastMemo((address: string) => text(address, wordCharsMax));

  constructor(
    readonly backends: readonly AuditBackend[],
    private readonly nowMs: () => number,
    private readonly policy: AuditPolicy | undefined,
  ) {
    this.#isBlocking = backends.some(({ mode }) => mode !== 'batch');
  }

  /** Number of events stored by the sink that has stored most. */
  get events(): number {
    return Math.max(...this.backends.map(({ sink }) => sink.written));
  }

  /** Called when the user of a request is known: decides what is recorded of it. Resolves when the request may go on. */
  receive(context: RequestContext): void | Promise<void> {
    if (!this.policy) return;
    const record = this.#recordOf(context, this.policy);
    if (!context.info.lasting && !context.upgrade) record.copyAnswer(context.response);
    if (this.#append(context, record, 'RequestReceived', 0) && this.#isBlocking) return this.#stored();
  }

  /** Waits for the sinks that requests have to wait for. */
  async #stored(): Promise<void> {
    const waiting = this.backends.filter(({ mode }) => mode !== 'batch');
    const stored = await Promise.all(waiting.map(({ sink }) => sink.flushed()));
    if (waiting.some(({ mode }, i) => mode === 'blocking-strict' && !stored[i]))
      throw internal('failed to store audit event');
  }

  #write(line: string): void {
    for (const { sink, mode } of this.backends) {
      sink.append(line);
      if (mode !== 'batch') void sink.flushed();
    }
  }

  /** @param code of the answer; 0 when the client disconnected before it */
  tell(context: RequestContext, stage: 'ResponseStarted' | 'ResponseComplete', code: number): void {
    if (!this.policy) return this.#write(this.#line(context, stage, code, undefined));
    const record = this.#recordOf(context, this.policy);
    this.#append(context, record, this.#stageOf(context, record, stage), code);
  }

  /**
   * The stage under which an event is recorded. Like Kubernetes, records an unauthenticated request once, when its
   * answer starts.
   */
  #stageOf(context: RequestContext, record: AuditRecord, stage: Stage): Stage {
    if (record.isBroken) return 'Panic';
    return context.failure?.code === 401 && !context.decision ? 'ResponseStarted' : stage;
  }

  #recordOf(context: RequestContext, policy: AuditPolicy): AuditRecord {
    const { user, door, info } = context;
    const known = user === door.unidentified && user.name === '' ? undefined : user;
    context.audited ??= new AuditRecord(policy.ruleFor(known, info.action));
    // Only this file makes these records.
    return context.audited as AuditRecord;
  }

  /** Writes an event; returns whether the policy wants one for this stage. */
  #append(context: RequestContext, record: AuditRecord, stage: Stage, code: number): boolean {
    const { level, omittedStages } = record.rule;
    if (level === 'None' || omittedStages.has(stage)) return false;
    this.#write(this.#line(context, stage, code, record));
    return true;
  }

  async close(): Promise<void> {
    await Promise.all(this.backends.map(({ sink }) => sink.close()));
  }

  #line(context: RequestContext, stage: Stage, code: number, record: AuditRecord | undefined): string {
    const { request, info, impersonator, address } = context;
    const user = impersonator?.user ?? context.user;
    const nowMs = this.nowMs();
    const receivedMs = Math.min(Math.round(nowMs - (performance.now() - context.begunMs)), nowMs);
    const agent = request.headers['user-agent'];
    const userAgent = agent === undefined ? '' : `,"userAgent":${this.#agent.of(agent)}`;
    const sources = sourceIPs(request, address).map((source) => this.#address.of(source));
    const objects = record && stage === 'ResponseComplete' ? objectTexts(record) : '';
    return (
      `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"${record?.rule.level ?? 'Metadata'}","auditID":${text(context.auditId, wordCharsMax)}` +
      `,"stage":"${stage}","requestURI":${text(request.url ?? '', uriCharsMax)}` +
      `,"verb":${text(info.verb, wordCharsMax)},"user":${this.#users.of(user)}${impersonator ? this.#impersonated(context) : ''},"sourceIPs":[${sources.join()}]` +
      `${userAgent}${objectReference(context)}${statusOf(context, stage, code)}${objects}` +
      `,"requestReceivedTimestamp":"${this.#received.of(receivedMs)}"` +
      `,"stageTimestamp":"${this.#now.of(nowMs)}"${stage === 'RequestReceived' ? '' : annotationsOf(context)}}\n`
    );
  }

  /** JSON of the impersonated user and the constraint. */
  #impersonated({ user, impersonator }: RequestContext): string {
    const constraint = impersonator?.constraint;
    const metadata = constraint
      ? `,"authenticationMetadata":{"impersonationConstraint":${JSON.stringify(constraint)}}`
      : '';
    return `,"impersonatedUser":${this.#users.of(user)}${metadata}`;
  }
}

/** JSON of a user as Kubernetes writes it, without empty fields. */
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
  if (context.audited?.isCut) context.annotations[cutAnnotation] = 'true';
  if (!context.hasAnnotations) {
    if (!decision) return '';
    return decision === allowed ? allowedAnnotations : `,"annotations":{${decisionText(decision)}}`;
  }
  const others = Object.entries(context.annotations).map(
    ([key, value]) => `${JSON.stringify(key)}:${text(value, annotationCharsMax)}`,
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
  return JSON.stringify(value);
}

/** Built once, because nearly all requests are allowed. */
const allowedAnnotations = `,"annotations":{${decisionText(allowed)}}`;

/** JSON of the request and response objects, if the policy wants them. */
function objectTexts(record: AuditRecord): string {
  const response = record.responseText();
  return (
    (record.requestText === undefined ? '' : `,"requestObject":${record.requestText}`) +
    (response === undefined ? '' : `,"responseObject":${response}`)
  );
}

function objectReference({ info: { resource: info }, objectName, audited }: RequestContext): string {
  if (!info) return '';
  const { apiVersion, group, version, namespace, subresource } = info;
  const name = info.name ?? objectName;
  return (
    `,"objectRef":{"resource":${text(info.resource, wordCharsMax)}` +
    (namespace ? `,"namespace":${text(namespace, wordCharsMax)}` : '') +
    (name ? `,"name":${text(name, wordCharsMax)}` : '') +
    (audited?.uid ? `,"uid":${text(audited.uid, wordCharsMax)}` : '') +
    (apiVersion === version ? '' : `,"apiGroup":${text(group, wordCharsMax)}`) +
    `,"apiVersion":${text(version, wordCharsMax)}` +
    (audited?.resourceVersion ? `,"resourceVersion":${text(audited.resourceVersion, wordCharsMax)}` : '') +
    `${subresource ? `,"subresource":${text(subresource, wordCharsMax)}` : ''}}`
  );
}

function statusOf({ audited, failure, info, upgrade }: RequestContext, stage: Stage, code: number): string {
  if (stage === 'RequestReceived') return '';
  if (code > 0) return `,"responseStatus":${responseStatus(code, failure, audited !== undefined)}`;
  if (!audited || !(info.lasting || upgrade)) return '';
  return ',"responseStatus":{"metadata":{},"status":"Success","message":"Connection closed early","code":200}';
}

function responseStatus(code: number, failure: Status | undefined, isWhole: boolean): string {
  if (failure?.code !== code) return `{"metadata":{},"code":${code}}`;
  return (
    `{"metadata":{},"status":"Failure","message":${text(failure.message ?? '', wordCharsMax)}` +
    (failure.reason ? `,"reason":${JSON.stringify(failure.reason)}` : '') +
    `${isWhole && failure.details ? `,"details":${JSON.stringify(failure.details)}` : ''},"code":${code}}`
  );
}
