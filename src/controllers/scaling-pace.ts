/**
 * The pace of scaling: how far and how soon a proposal is followed. Policies limit the change per period, and a
 * stabilization window delays changes of direction.
 */
import type {
  HorizontalPodAutoscalerSpecV2,
  HPAScalingPolicy,
  HPAScalingRules,
} from '../api/generated/types.ts';

const downWindowSeconds = 300;
/** Proposals and steps older than the longest possible window are dropped. */
const memoryMs = 3_600_000;
const entriesMax = 1000;

const upDefaults: HPAScalingRules = {
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
};
const downDefaults: HPAScalingRules = {
  selectPolicy: 'Max',
  policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
};

export interface PacedReplicas {
  readonly replicas: number;
  /** For the condition ScalingLimited. */
  readonly limited: boolean;
  readonly reason: string;
  readonly message: string;
}

interface Remembered {
  readonly atMs: number;
  readonly count: number;
}

const inRange: Omit<PacedReplicas, 'replicas'> = {
  limited: false,
  reason: 'DesiredWithinRange',
  message: 'the desired count is within the acceptable range',
};

export class ScalingPace {
  #proposals: Remembered[] = [];
  #steps: Remembered[] = [];

  /** The number of replicas to set now for a proposal. */
  limit(
    spec: HorizontalPodAutoscalerSpecV2,
    current: number,
    proposed: number,
    nowMs: number,
  ): PacedReplicas {
    const { minReplicas = 1, maxReplicas = 1, behavior } = spec;
    const up = { ...upDefaults, ...behavior?.scaleUp };
    const down = { ...downDefaults, ...behavior?.scaleDown };
    const stable = this.#stabilized(current, proposed, up, down, nowMs);
    if (stable > current) {
      const most = this.#most(current, up, nowMs);
      if (stable > most && most < maxReplicas)
        return {
          replicas: Math.max(most, current),
          limited: true,
          reason: 'ScaleUpLimit',
          message: 'the desired replica count is increasing faster than the maximum scale rate',
        };
    } else if (stable < current) {
      const least = this.#least(current, down, nowMs);
      if (stable < least && least > minReplicas)
        return {
          replicas: Math.min(least, current),
          limited: true,
          reason: 'ScaleDownLimit',
          message: 'the desired replica count is decreasing faster than the maximum scale rate',
        };
    }
    if (stable < minReplicas)
      return {
        replicas: minReplicas,
        limited: true,
        reason: 'TooFewReplicas',
        message: 'the desired replica count is less than the minimum replica count',
      };
    if (stable > maxReplicas)
      return {
        replicas: maxReplicas,
        limited: true,
        reason: 'TooManyReplicas',
        message: 'the desired replica count is more than the maximum replica count',
      };
    return { replicas: stable, ...inRange };
  }

  /** Records a change of the number of replicas. */
  stepped(before: number, after: number, nowMs: number): void {
    this.#steps = recent([...this.#steps, { atMs: nowMs, count: after - before }], nowMs);
  }

  /** Stabilization: up only to the lowest, down only to the highest proposal within the window of the direction. */
  #stabilized(
    current: number,
    proposed: number,
    up: HPAScalingRules,
    down: HPAScalingRules,
    nowMs: number,
  ): number {
    this.#proposals = recent([...this.#proposals, { atMs: nowMs, count: proposed }], nowMs);
    const within = (seconds: number): number[] =>
      this.#proposals.filter(({ atMs }) => nowMs - atMs <= seconds * 1000).map(({ count }) => count);
    const lowest = Math.min(...within(up.stabilizationWindowSeconds ?? 0), proposed);
    const highest = Math.max(...within(down.stabilizationWindowSeconds ?? downWindowSeconds), proposed);
    return Math.min(Math.max(current, lowest), Math.max(highest, lowest));
  }

  #most(current: number, { selectPolicy, policies = [] }: HPAScalingRules, nowMs: number): number {
    if (selectPolicy === 'Disabled') return current;
    const limits = policies.map((policy) => {
      const start = current - this.#changed(policy, nowMs, 1);
      return policy.type === 'Pods' ? start + policy.value! : Math.ceil(start * (1 + policy.value! / 100));
    });
    return selectPolicy === 'Min' ? Math.min(...limits) : Math.max(...limits);
  }

  #least(current: number, { selectPolicy, policies = [] }: HPAScalingRules, nowMs: number): number {
    if (selectPolicy === 'Disabled') return current;
    const limits = policies.map((policy) => {
      const start = current + this.#changed(policy, nowMs, -1);
      return policy.type === 'Pods' ? start - policy.value! : Math.floor(start * (1 - policy.value! / 100));
    });
    return selectPolicy === 'Min' ? Math.max(...limits) : Math.min(...limits);
  }

  /** Replicas added or removed within the period of a policy. */
  #changed({ periodSeconds = 0 }: HPAScalingPolicy, nowMs: number, sign: 1 | -1): number {
    return this.#steps
      .filter(({ atMs, count }) => nowMs - atMs <= periodSeconds * 1000 && Math.sign(count) === sign)
      .reduce((total, { count }) => total + Math.abs(count), 0);
  }
}

const recent = (list: readonly Remembered[], nowMs: number): Remembered[] =>
  list.filter(({ atMs }) => nowMs - atMs <= memoryMs).slice(-entriesMax);
