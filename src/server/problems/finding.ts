/** Findings: what is not well about one object, from nothing but the object. */
import type { Labels } from '../../api/kind/label-selector.ts';
import type { ApiObject } from '../../api/text/object.ts';

export interface Finding {
  /** Findings with the same cause are one problem. */
  readonly cause: string;
  /** What is wrong, as the end of a sentence that begins with the objects: `image "x" cannot be pulled: not found`. */
  readonly text: string;
  /** `past`: the workload of the pod has replaced it, and is whole. */
  readonly severity: 'error' | 'warning' | 'past';
  /** When it began or last changed, as objects write times; '' when the object does not say. */
  readonly since: string;
  /** It counts from this time on: what has only begun may come right by itself. In milliseconds. */
  readonly afterMs?: number;
  /** It counts until this time, in milliseconds. */
  readonly untilMs?: number;
  /** The latest warning about the object says why. */
  readonly isExplainedByEvents?: boolean;
  /** Which events may say why, where not all warnings may. */
  readonly events?: EventChoice;
  /** What is said instead of the text before the end of the pod of the job that failed last. */
  readonly isExplainedByPods?: string;
  /** It says why its job fails, and is no problem of its own. */
  readonly explainsJob?: boolean;
  /** The object itself says nothing: a warning about it that came after `since` is the problem. */
  readonly isOnlyInEvents?: boolean;
  /** It holds while nothing with these labels answers. */
  readonly selects?: Labels;
  /** The log of the container that ended, whose last line says why. */
  readonly log?: LogName | undefined;
  /** It is past once the workload of the pod is whole again. */
  readonly isOverOnceReplaced?: boolean;
  /** It follows from what is wrong with the pods of the object, and is reported with them if there is anything. */
  readonly followsFromPods?: boolean;
}

interface EventChoice {
  /** How their messages begin. */
  readonly begins?: RegExp;
  /** Other events than warnings, too. */
  readonly hasNormal?: boolean;
  /** The reason of an event by which all is as it is meant to be. */
  readonly meant?: string;
}

export interface LogName {
  readonly node: string;
  /** Undefined: the object itself. */
  readonly pod?: string;
  readonly container: string;
  /** The run before the one that waits to begin. */
  readonly isPrevious: boolean;
  /** The container that ended: another one has another log. */
  readonly id: string;
}

/** An object of any kind, whose fields are read with care. */
// biome-ignore lint/suspicious/noExplicitAny: fields of all kinds.
export type Any = any;

export type Examine = (object: Any) => readonly Finding[];

/** Longest text that is taken from an object: messages of engines can be long. */
const textMax = 500;

export function short(text: unknown): string {
  const plain = String(text ?? '').trim();
  return plain.length > textMax ? `${plain.slice(0, textMax)}…` : plain;
}

/** `reason: message`, or the one that there is. */
export const why = (reason: unknown, message: unknown): string =>
  [reason, message].map(short).filter(Boolean).join(': ');

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export const conditionOf = (object: Any, type: string): Condition | undefined =>
  conditionsOf(object).find((each) => each.type === type);

export const conditionsOf = (object: Any): readonly Condition[] =>
  Array.isArray(object.status?.conditions) ? object.status.conditions.filter(Boolean) : [];

/** A finding from a condition. */
export const fromCondition = (
  { lastTransitionTime, reason, message }: Condition,
  text: string,
  more: Partial<Finding> = {},
): Finding => {
  const known = reason && text.includes(reason) ? '' : short(reason);
  const whole = [text, message ? short(message) : known].filter(Boolean).join(': ');
  return { cause: whole, text: whole, severity: 'error', since: lastTransitionTime ?? '', ...more };
};

/** What controllers tell by warnings alone. */
export const onlyInEvents = (since: unknown): Finding => ({
  cause: '',
  text: '',
  severity: 'warning',
  since: String(since ?? ''),
  isOnlyInEvents: true,
});

/** How long an object may take to be deleted after its grace. */
const deletionMs = 60_000;

/** An object whose deletion does not end. */
export function deletionFindings({ metadata }: ApiObject): Finding[] {
  const since = metadata.deletionTimestamp;
  if (!since) return [];
  const { finalizers = [] } = metadata as { finalizers?: string[] };
  const text = `deletion does not end${finalizers.length ? `: waits for finalizer ${finalizers.join(', ')}` : ''}`;
  return [
    {
      cause: text,
      text,
      severity: 'warning',
      since,
      afterMs: Date.parse(since) + deletionMs,
      isExplainedByEvents: finalizers.length === 0,
    },
  ];
}
