/** Scaling proposals: the number of replicas that one metric proposes, by Kubernetes' formula. Pure. */

/** Tolerance: ratios this near to one change nothing. */
const tolerance = 0.1;

export interface MeasuredPod {
  readonly name: string;
  readonly ready: boolean;
  /** Requests of its containers; undefined when one of them has none. */
  readonly request: number | undefined;
  /** Its usage; undefined when not known. */
  readonly usage: number | undefined;
}

/** A percentage of the requests, or an amount per pod. */
export type ScalingTarget = { readonly utilization: number } | { readonly average: number };

export interface Proposal {
  readonly replicas: number;
  /** Current usage: percent of the requests, and the amount per pod. */
  readonly utilization: number | undefined;
  readonly average: number;
}

/** `pods` must not include terminating or finished pods. Throws when no metric is available. */
export function propose(current: number, target: ScalingTarget, pods: readonly MeasuredPod[]): Proposal {
  const measured = pods.filter(({ ready, usage }) => ready && usage !== undefined);
  const unready = pods.filter(({ ready }) => !ready);
  const missing = pods.filter(({ ready, usage }) => ready && usage === undefined);
  if (measured.length === 0)
    throw new Error('did not receive metrics for targeted pods (pods might be unready)');
  const wishOf = ({ name, request }: MeasuredPod): number => {
    if ('average' in target) return target.average;
    if (!request) throw new Error(`missing request for cpu in pod ${name}`);
    return (request * target.utilization) / 100;
  };
  for (const pod of pods) wishOf(pod);
  const used = sum(measured.map(({ usage }) => usage!));
  const asked = sum(measured.map(({ request }) => request ?? 0));
  const now = {
    utilization: 'utilization' in target ? Math.floor((used * 100) / asked) : undefined,
    average: used / measured.length,
  };
  const ratio = used / sum(measured.map(wishOf));
  const growing = ratio > 1;
  const counted = growing ? unready : [];
  if (counted.length === 0 && missing.length === 0) {
    const replicas = within(ratio) ? current : Math.ceil(round(ratio * measured.length));
    return { replicas, ...now };
  }
  // Pods without metrics count against the change: as idle when scaling up, as busy when scaling down.
  const assumed = missing.map((pod) => (growing ? 0 : busy(pod, target)));
  const all = [...measured, ...missing, ...counted];
  const newRatio = (used + sum(assumed)) / sum(all.map(wishOf));
  if (within(newRatio) || growing !== newRatio > 1) return { replicas: current, ...now };
  const replicas = Math.ceil(round(newRatio * all.length));
  const backwards = newRatio < 1 ? replicas > current : replicas < current;
  return { replicas: backwards ? current : replicas, ...now };
}

const busy = ({ request }: MeasuredPod, target: ScalingTarget): number =>
  'average' in target ? target.average : ((request ?? 0) * Math.max(100, target.utilization)) / 100;

const within = (ratio: number): boolean => Math.abs(1 - ratio) <= tolerance + 1e-12;
/** Keeps a rounding error such as 3.0000000000000004 from becoming four replicas. */
const round = (value: number): number => Math.round(value * 1e9) / 1e9;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
