/** Lifecycles: what happens to simulated pods and nodes as time passes, as data. */
import { type LabelSelector, parseLabelSelector } from '../../api/kind/label-selector.ts';
import {
  anyObject,
  counts,
  field,
  listOf,
  mapOf,
  objectOf,
  type Shape,
  shares,
  texts,
  times,
  truths,
  words,
} from './shape.ts';

/** Least time that the stages of a lifecycle without an end take together. */
const roundMinMs = 100;

/** What happens at a stage: one of these, after a delay. */
export interface LifecycleStage {
  /** Time since the stage before, or since the pod or node was there, in milliseconds. Default 0. */
  readonly after?: number;
  /** Up to so much more time, by chance, in milliseconds. Default 0. */
  readonly jitter?: number;
  /** Pods: containers start only now. */
  readonly start?: boolean;
  /** Pods: containers end with this code; the time begins when they run. */
  readonly exit?: number;
  /** Pods: the pod fails as an evicted one, with this message. */
  readonly evict?: string;
  /** Nodes: `off` loses power as if the machine had, `on` starts again. */
  readonly power?: 'on' | 'off';
  /** Containers are killed, and start again where the pod's restart policy says so; nodes lose power and start again. */
  readonly restart?: boolean;
  /** Merged into the status, by the rules of strategic merge patches. */
  readonly status?: Readonly<Record<string, unknown>>;
  /** Labels to set. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Annotations to set. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** The object is deleted. */
  readonly delete?: boolean;
}

export interface Lifecycle {
  /** For messages. */
  readonly name?: string;
  /** Label selector of the pods of simulated nodes that it is for; empty for all. Each pod has the first that fits. */
  readonly pods?: string;
  /** The namespace of these pods. Default: all. */
  readonly namespace?: string;
  /** Label selector of the simulated nodes that it is for, in place of pods; empty for all. */
  readonly nodes?: string;
  /** How many of them, by chance, from 0 to 1. Default 1. */
  readonly share?: number;
  readonly stages?: readonly LifecycleStage[];
  /** Whether the first stage follows the last. Default false. */
  readonly repeat?: boolean;
}

const actions = {
  start: field(truths, 'pods: containers start only now'),
  exit: field(counts(0, 255), 'pods: containers end with this code; the time begins when they run'),
  evict: field(texts(), 'pods: the pod fails as an evicted one, with this message'),
  power: field(words('on', 'off'), 'nodes: off loses power as if the machine had, on starts again'),
  restart: field(truths, 'containers are killed and restarted; nodes lose power and start again'),
  status: field(anyObject, 'merged into the status'),
  labels: field(mapOf(texts()), 'labels to set'),
  annotations: field(mapOf(texts()), 'annotations to set'),
  delete: field(truths, 'the object is deleted'),
};

const podActions = ['start', 'exit', 'evict'] as const;

const stage = objectOf(
  {
    after: field(times, 'time since the stage before: 500ms, 5s, 1h30m'),
    jitter: field(times, 'up to so much more time, by chance'),
    ...actions,
  },
  (read) => {
    const given = Object.keys(actions).filter((name) => name in read);
    return given.length === 1
      ? undefined
      : `must have one of ${Object.keys(actions).join(', ')}${given.length ? `, not ${given.join(' and ')}` : ''}`;
  },
);

const selector = texts('a label selector such as app=web', (text) => selectorOf(text) !== undefined);

/** undefined: it is no label selector. */
export function selectorOf(text: string): LabelSelector | undefined {
  try {
    return parseLabelSelector(text);
  } catch {
    return undefined;
  }
}

export const lifecycles: Shape<readonly Lifecycle[]> = listOf(
  objectOf(
    {
      name: field(texts(), 'for messages'),
      pods: field(selector, 'label selector of the pods of simulated nodes that it is for; "" for all'),
      namespace: field(texts(), 'the namespace of these pods'),
      nodes: field(selector, 'label selector of the simulated nodes that it is for; "" for all'),
      share: field(shares, 'how many of them, by chance'),
      stages: field(listOf(stage), 'what happens, one after the other'),
      repeat: field(truths, 'whether the first stage follows the last'),
    },
    problemOf as never,
  ),
) as Shape<readonly Lifecycle[]>;

function problemOf({ pods, nodes, namespace, stages = [], repeat }: Lifecycle): string | undefined {
  if ((pods === undefined) === (nodes === undefined)) return 'must be for pods or for nodes';
  if (nodes !== undefined && namespace !== undefined) return 'is for nodes, which have no namespace';
  if (stages.length === 0) return 'needs stages';
  const odd = stages.find((one) =>
    pods === undefined ? podActions.some((name) => name in one) : 'power' in one,
  );
  if (odd) return `has a stage of ${pods === undefined ? 'pods' : 'nodes'}: ${JSON.stringify(odd)}`;
  const roundMs = stages.reduce((sum, { after = 0 }) => sum + after, 0);
  return repeat && roundMs < roundMinMs
    ? `repeats after ${roundMs} ms: at least ${roundMinMs} ms are needed`
    : undefined;
}
