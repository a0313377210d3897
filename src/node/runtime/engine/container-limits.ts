/** Limits of containers in the form that engines take: CPU shares and quotas, bytes of memory, and OOM scores. */
import type { Container, Pod } from '../../../api/generated/types.ts';
import { parseQuantity, toNumber } from '../../../api/values/quantity.ts';
import { memoryBytes } from '../../machine/machine.ts';

const sharesMin = 2;
const sharesMax = 262_144;
export const cpuPeriod = 100_000;
const quotaMin = 1_000;
/** The OOM score of the sandbox, which is killed after all of its containers. */
export const sandboxOomScore = -998;
const guaranteedOomScore = -997;

export interface EngineLimits {
  readonly cpuShares: number;
  /** CPU quota; 0 for no limit. */
  readonly cpuQuota: number;
  /** Memory limit; 0 for no limit. */
  readonly memoryBytes: number;
}

const amount = (list: Readonly<Record<string, string>> | undefined, name: string): number | undefined =>
  list?.[name] === undefined ? undefined : toNumber(parseQuantity(list[name]));

export function engineLimits({ resources }: Container): EngineLimits {
  const { requests, limits } = resources ?? {};
  const cpu = amount(limits, 'cpu') ?? 0;
  const wanted = amount(requests, 'cpu') ?? cpu;
  return {
    cpuShares: Math.max(sharesMin, Math.min(sharesMax, Math.floor(wanted * 1024))),
    cpuQuota: cpu > 0 ? Math.max(quotaMin, Math.floor(cpu * cpuPeriod)) : 0,
    memoryBytes: Math.ceil(amount(limits, 'memory') ?? 0),
  };
}

/**
 * The OOM score, from -997 for a pod with guaranteed resources to 1000 for one without any: a higher one is killed
 * sooner.
 */
export function oomScore(pod: Pod, { resources }: Container): number {
  const qos = pod.status?.qosClass;
  if (qos === 'Guaranteed') return guaranteedOomScore;
  if (qos === 'BestEffort') return 1000;
  const requested = amount(resources?.requests, 'memory') ?? 0;
  return Math.min(999, Math.max(3, 1000 - Math.floor((1000 * requested) / memoryBytes())));
}
