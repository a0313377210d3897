/** Why jobs fail: the end of the newest of their pods that failed. The pods themselves are no problems, since jobs try again. */
import type { Found } from './problem.ts';

export class FailedJobPods {
  /** By the uid of the job. */
  readonly #newest = new Map<string, Found>();

  take(found: Found): void {
    const uid = found.owner?.uid ?? '';
    const known = this.#newest.get(uid);
    if (!known || found.finding.since >= known.finding.since) this.#newest.set(uid, found);
  }

  /** Jobs of one cron job, or a job, that fail for one reason are one problem. */
  addTo(found: Found[]): void {
    if (this.#newest.size === 0) return;
    for (const [at, each] of found.entries()) {
      const { object, owner, finding } = each;
      const pod = finding.isExplainedByPods === undefined ? undefined : this.#newest.get(object.uid);
      if (!pod) continue;
      const { text: end, log } = pod.finding;
      const cause = `${owner?.uid ?? object.uid} ${finding.isExplainedByPods} ${end}`;
      const text = `${finding.isExplainedByPods}: ${end}`;
      found[at] = {
        ...each,
        finding: { ...finding, text, cause, log: log && { ...log, pod: pod.object.name } },
      };
    }
  }
}
