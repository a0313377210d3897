/** The last line of the log of a container that ended, which often says why, where the user may read logs. */

import type { Authorizer } from '../../api/kind/access.ts';
import type { User } from '../../api/values/user.ts';
import { composedKey } from '../../composed-key.ts';
import type { Connecting } from '../pods/connecting.ts';
import { askNodeText } from '../pods/node-request.ts';
import { kubeletPath, locatePod } from '../pods/pod-target.ts';
import { type LogName, short } from './finding.ts';
import type { Grouped, ObjectName, Problem } from './problem.ts';

/** Problems of one answer whose logs are asked for, the newest ones. */
const askedMax = 20;
const answerMs = 2_000;
const answerBytesMax = 64 * 1024;
const lines = 5;
/** Lines that are kept: containers that ended write no more. */
const keptMax = 1_000;

/** Programs colour their output for terminals. */
const colours = /\u001b\[[\d;]*m/g;

const kept = new Map<string, string>();

export class LastLines {
  constructor(
    private readonly connecting: Connecting,
    private readonly authorizer: Authorizer,
    private readonly user: User,
  ) {}

  addTo(problems: readonly Grouped[]): Promise<Problem[]> {
    const asked = new Set(problems.filter(({ newest }) => newest.finding.log).slice(0, askedMax));
    return Promise.all(
      problems.map(async (each) => {
        const line = asked.has(each) ? await this.#lineOf(each.newest.object, each.newest.finding.log!) : '';
        return line
          ? { ...each.problem, message: `${each.problem.message}, last line: ${line}` }
          : each.problem;
      }),
    );
  }

  /** Empty if the log is empty or gone, or the node does not answer in time. */
  async #lineOf({ namespace = '', name: own }: ObjectName, log: LogName): Promise<string> {
    const name = log.pod ?? own;
    if (!(await this.#mayRead(namespace, name))) return '';
    const key = composedKey(log.id, namespace, name);
    const known = kept.get(key);
    if (known !== undefined) return known;
    const path = kubeletPath('containerLogs', namespace, name, log.container);
    const query = `?tailLines=${lines}${log.isPrevious ? '&previous=true' : ''}`;
    try {
      const node = locatePod(this.connecting, { spec: { nodeName: log.node } } as Parameters<
        typeof locatePod
      >[1]);
      const question = { path: path + query, answerMs, answerBytesMax };
      const text = await askNodeText(this.connecting.nodes, node!, question);
      const line = short(
        text
          .replace(colours, '')
          .split('\n')
          .findLast((each) => each.trim()),
      );
      if (kept.size >= keptMax) kept.delete(kept.keys().next().value!);
      kept.set(key, line);
      return line;
    } catch {
      return '';
    }
  }

  async #mayRead(namespace: string, name: string): Promise<boolean> {
    const resource = { group: '', version: 'v1', resource: 'pods', namespace, subresource: 'log', name };
    const info = { verb: 'get', path: '', resource };
    return (await this.authorizer.decide({ user: this.user, info })).allowed;
  }
}
