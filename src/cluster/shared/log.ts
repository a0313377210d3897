/** The log of a cluster: what happens in it, one line each, for those who ask. Without it nothing is observed. */

export type LogValue = string | number | boolean | undefined;

export interface LogLine {
  readonly level: 'info' | 'debug';
  /** What happened, for people. */
  readonly message: string;
  /** The same in parts, for programs. */
  readonly fields: Readonly<Record<string, LogValue>>;
}

export interface LogOptions {
  /** `info`: the configuration, nodes, events of pods and other objects, slow requests. `debug`: every request, too. Default `info`. */
  readonly level?: 'info' | 'debug';
  /** Called with each line; must not throw. */
  readonly write: (line: LogLine) => void;
}

/** An event as the log tells it, whatever part of the cluster recorded it. */
export interface LoggedEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** How often it was logged so far. */
  readonly count?: number;
}

export function logEvent({ write }: LogOptions, event: LoggedEvent): void {
  const { type, reason, message, kind, namespace, name, count } = event;
  const object = `${kind} ${namespace ? `${namespace}/` : ''}${name}`;
  const fields = { type, reason, kind, namespace: namespace || undefined, name, count };
  write({ level: 'info', message: `${object}: ${reason}: ${message}`, fields });
}

/** Says which options are in force. Values that are no scalars are written as JSON. */
export function logConfiguration(
  { write }: LogOptions,
  configuration: Readonly<Record<string, unknown>>,
): void {
  const fields: Record<string, LogValue> = {};
  for (const [name, value] of Object.entries(configuration))
    if (value !== undefined)
      fields[name] = typeof value === 'object' ? JSON.stringify(value) : (value as LogValue);
  write({ level: 'info', message: 'configuration', fields });
}
