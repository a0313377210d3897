/** Whether a word for a state sounds good, worrying or bad. Colour only supports the word, which is always shown. */

export type Tone = 'good' | 'warn' | 'bad';

const good = /^(running|ready|active|available|bound|succeeded|completed?|normal|healthy|true|deployed)$/i;
const bad =
  /(fail|error|crash|backoff|lost|evicted|oomkilled|unknown|notready|not ready|invalid|refused|unhealthy|^false$)/i;
const warn = /(pending|terminating|creating|waiting|warning|disabled|init:|progressing|released|suspended)/i;

export function toneOf(text: string): Tone | undefined {
  if (bad.test(text)) return 'bad';
  if (warn.test(text)) return 'warn';
  if (good.test(text)) return 'good';
  const share = /^(\d+)\/(\d+)$/.exec(text);
  if (share) return share[1] === share[2] ? 'good' : 'warn';
  return undefined;
}
