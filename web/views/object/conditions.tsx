/** Conditions as a person reads them: what is wrong comes first, and each says since when. */
import type { ApiObject } from '../../core/objects.ts';
import { Age } from '../../ui/age.tsx';
import type { Tone } from '../../ui/tone.ts';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** Conditions that are bad news when they are true; all others are good news then. */
const badWhenTrue =
  /(Pressure|Unavailable|Failure|Failed|Degraded|Stalled|Terminating|DisruptionTarget|Problem|Deadlock|NonStructural|Deletion|Remaining)/;

/** Conditions that are worth a look when they are true, and no failure. */
const doubtfulWhenTrue = /^ScalingLimited$/;
/** What is under way or not, such as the `Issuing` of a certificate; a rollout that is not under way has failed. */
const isPassing = /(?<!Progress)ing$/;

const order: Readonly<Record<Tone, number>> = { bad: 0, warn: 1, good: 2 };

function toneOfCondition({ type, status }: Pick<Condition, 'type' | 'status'>): Tone | undefined {
  if (status !== 'True' && status !== 'False') return 'warn';
  if (doubtfulWhenTrue.test(type)) return status === 'True' ? 'warn' : 'good';
  if (status === 'False' && isPassing.test(type) && !badWhenTrue.test(type)) return undefined;
  return (status === 'True') !== badWhenTrue.test(type) ? 'good' : 'bad';
}

/** `PodReadyToStartContainers` as `pod ready to start containers`. */
const words = (type: string): string =>
  type
    .replace(/^.*\//, '')
    .replace(/([a-z\d])([A-Z])|([A-Z])([A-Z][a-z])/g, '$1$3 $2$4')
    .toLowerCase();

function sentence({ type, status }: Condition): string {
  const what = words(type);
  const not = badWhenTrue.test(type) ? 'no' : 'not';
  // `containers ready` becomes `containers not ready`, and `pod scheduled` `pod not scheduled`.
  const subject = /^(?:\w+s(?= ready$)|pod(?= (?:ready|scheduled)\b))/.exec(what)?.[0];
  const denied = subject ? `${subject} not${what.slice(subject.length)}` : `${not} ${what}`;
  const text = status === 'True' ? what : status === 'False' ? denied : `unknown whether ${what}`;
  return text[0]!.toUpperCase() + text.slice(1);
}

/** What a job does before it has ended, and its end: the end says it all. */
const before: Readonly<Record<string, string>> = { FailureTarget: 'Failed', SuccessCriteriaMet: 'Complete' };

const rankOf = (condition: Condition): number => order[toneOfCondition(condition) ?? 'good'];

function conditionsOf({ status }: ApiObject): readonly Condition[] {
  const list: readonly Condition[] = Array.isArray(status?.conditions) ? status.conditions : [];
  const holds = new Set(list.filter((each) => each?.status === 'True').map(({ type }) => type));
  return list
    .filter((each) => typeof each?.type === 'string' && !holds.has(before[each.type] ?? ''))
    .toSorted((a, b) => rankOf(a) - rankOf(b));
}

export function Conditions({ object }: { readonly object: ApiObject }) {
  const conditions = conditionsOf(object);
  if (conditions.length === 0) return null;
  return (
    <section class="panel">
      <h2>Conditions</h2>
      <ul class="conditions">
        {conditions.map((condition) => (
          <li key={condition.type}>
            <span
              class={`badge ${toneOfCondition(condition) ?? ''}`}
              title={`${condition.type}: ${condition.status}`}
            >
              {sentence(condition)}
            </span>
            {condition.lastTransitionTime && (
              <span class="quiet small">
                Last transition <Age since={condition.lastTransitionTime} /> ago
              </span>
            )}
            {(condition.message || condition.reason) && <p>{condition.message || condition.reason}</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}
