/**
 * Traces of requests, with `--trace-requests`: keeps the last ones by verb, and tells how long they took and where the
 * slowest spent their time, at `/wherry/trace`. Long-running requests are left out.
 */
import { methodNotAllowed } from '../../api/errors/errors.ts';
import { phases } from '../../request-trace.ts';
import { answerText } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';

/** Requests kept for each verb; the oldest go first. */
const keptMax = 20_000;
/** Verbs that are kept: a client may send any method. */
const verbsMax = 32;

export interface VerbSummary {
  readonly verb: string;
  readonly requests: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly longestMs: number;
  /** Mean milliseconds by phase: of all requests, and of the slowest percent. */
  readonly phasesMs: Readonly<Record<string, number>>;
  readonly slowestPhasesMs: Readonly<Record<string, number>>;
}

export class RequestTraces {
  readonly #byVerb = new Map<string, Float64Array[]>();
  readonly #counts = new Map<string, number>();

  readonly observe = ({ info, trace }: RequestContext): void => {
    if (!trace || info.lasting) return;
    trace.end('answer');
    const { verb } = info;
    let kept = this.#byVerb.get(verb);
    if (!kept) {
      if (this.#byVerb.size === verbsMax) return;
      kept = [];
      this.#byVerb.set(verb, kept);
    }
    const count = this.#counts.get(verb) ?? 0;
    kept[count % keptMax] = trace.timesMs;
    this.#counts.set(verb, count + 1);
  };

  /** Forgets what was kept, so that the next summary is about later requests. */
  clear(): void {
    this.#byVerb.clear();
    this.#counts.clear();
  }

  summary(): VerbSummary[] {
    return [...this.#byVerb].map(([verb, traces]) => summaryOf(verb, traces));
  }

  /** The summary as a table for people. */
  text(): string {
    const head = ['verb', 'requests', 'median', 'p99', 'longest', 'of', ...phases].map((name) =>
      name.padStart(10),
    );
    const rows = this.summary().flatMap((one) => [
      [one.verb, String(one.requests), ...[one.medianMs, one.p99Ms, one.longestMs].map(shown), 'all'].concat(
        phases.map((phase) => shown(one.phasesMs[phase]!)),
      ),
      ['', '', '', '', '', 'slowest'].concat(phases.map((phase) => shown(one.slowestPhasesMs[phase]!))),
    ]);
    return [
      'Milliseconds by verb; the phases are means, of all requests and of the slowest percent.',
      '',
      head.join(''),
      ...rows.map((row) => row.map((cell) => cell.padStart(10)).join('')),
      '',
    ].join('\n');
  }
}

/** Answers the page; DELETE tells as well, and begins anew. */
export function answerTraces(context: RequestContext, traces: RequestTraces): boolean {
  const { method } = context.info;
  if (method !== 'GET' && method !== 'HEAD' && method !== 'DELETE') throw methodNotAllowed();
  const isJson = context.request.headers.accept?.includes('application/json');
  const text = isJson ? `${JSON.stringify(traces.summary())}\n` : traces.text();
  answerText(context, 200, text, isJson ? 'application/json' : undefined);
  if (method === 'DELETE') traces.clear();
  return true;
}

const shown = (ms: number): string => ms.toFixed(3);

function summaryOf(verb: string, traces: readonly Float64Array[]): VerbSummary {
  const sorted = traces
    .map((timesMs) => ({ timesMs, totalMs: timesMs.reduce((sum, ms) => sum + ms, 0) }))
    .toSorted((a, b) => a.totalMs - b.totalMs);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.totalMs;
  return {
    verb,
    requests: sorted.length,
    medianMs: at(0.5),
    p99Ms: at(0.99),
    longestMs: at(1),
    phasesMs: means(sorted),
    slowestPhasesMs: means(sorted.slice(Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99)))),
  };
}

const means = (traces: readonly { readonly timesMs: Float64Array }[]): Record<string, number> =>
  Object.fromEntries(
    phases.map((phase, place) => [
      phase,
      traces.reduce((sum, { timesMs }) => sum + timesMs[place]!, 0) / traces.length,
    ]),
  );
