/** The old format of the audit log: a line of names and values for each event, instead of JSON. */
import type { AuditSink } from './audit-sink.ts';

interface AuditUser {
  readonly username?: string;
  readonly groups?: readonly string[];
}

interface AuditEvent {
  readonly auditID: string;
  readonly stage: string;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: AuditUser;
  readonly impersonatedUser?: AuditUser;
  readonly sourceIPs: readonly string[];
  readonly userAgent?: string;
  readonly objectRef?: { readonly namespace?: string };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
}

const quoted = (text: string): string => JSON.stringify(text);
const groupsOf = (groups: readonly string[] | undefined, none: string): string =>
  quoted(groups?.length ? groups.map(quoted).join() : none);

/** @param line an event as JSON, which ends in a line feed */
export function legacyLine(line: string): string {
  const event = JSON.parse(line) as AuditEvent;
  const { user, impersonatedUser, objectRef, responseStatus } = event;
  const parts = {
    id: quoted(event.auditID),
    stage: quoted(event.stage),
    ip: quoted(event.sourceIPs[0] ?? '<unknown>'),
    method: quoted(event.verb),
    user: quoted(user.username || '<none>'),
    groups: groupsOf(user.groups, '<none>'),
    as: quoted(impersonatedUser?.username ?? '<self>'),
    asgroups: groupsOf(impersonatedUser?.groups, '<lookup>'),
    'user-agent': quoted(event.userAgent ?? ''),
    namespace: quoted(objectRef?.namespace || '<none>'),
    uri: quoted(event.requestURI),
    response: quoted(responseStatus?.code === undefined ? '<deferred>' : `${responseStatus.code}`),
  };
  const words = Object.entries(parts).map(([name, value]) => `${name}=${value}`);
  return `${event.requestReceivedTimestamp} AUDIT: ${words.join(' ')}\n`;
}

/** Writes events to another sink in the old format. */
export class LegacyAudit implements AuditSink {
  constructor(private readonly sink: AuditSink) {}

  get written(): number {
    return this.sink.written;
  }

  get dropped(): number {
    return this.sink.dropped;
  }

  append(line: string): void {
    this.sink.append(legacyLine(line));
  }

  flushed(): Promise<boolean> {
    return this.sink.flushed();
  }

  close(): Promise<void> {
    return this.sink.close();
  }
}
