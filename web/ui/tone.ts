/** Whether a word for a state is good, worrying or bad. Colour only supports the word, which is always shown. */

export type Tone = 'good' | 'warn' | 'bad';

const good = /^(running|ready|active|available|bound|succeeded|completed?|normal|healthy|true|deployed)$/i;
/**
 * Bad states, including reasons of containers and pods: `ErrImagePull`, `StartError`, `OutOfcpu`, `Signal:9`,
 * `Init:ExitCode:3`.
 */
const bad =
  /(fail|error|^err|:err|crash|backoff|lost|evicted|preempt|oomkilled|outof|unknown|notready|not ready|invalid|refused|denied|rejected|cannot|unhealthy|unavailable|exceeded|unschedulable|affinity|shutdown|signal:|exitcode:|deadlock|^false\b)/i;
const warn =
  /(pending|terminating|creating|initializing|waiting|gated|warning|disabled|init:|progressing|released|suspended)/i;

export function toneOf(text: string): Tone | undefined {
  if (bad.test(text)) return 'bad';
  if (warn.test(text)) return 'warn';
  if (good.test(text)) return 'good';
  const share = /^(\d+)\/(\d+)$/.exec(text);
  if (share) return share[1] === share[2] ? 'good' : 'warn';
  return undefined;
}

/** How full something is: the less, the better. */
export function usageTone(part: number, whole: number): Tone | undefined {
  const share = whole > 0 ? part / whole : 0;
  return share > 0.9 ? 'bad' : share > 0.75 ? 'warn' : undefined;
}

/** How many of those that are wanted are ready: the more, the better, and none of some is bad. */
export function readinessTone(ready: number, wanted: number): Tone {
  if (ready >= wanted) return 'good';
  return ready === 0 ? 'bad' : 'warn';
}
