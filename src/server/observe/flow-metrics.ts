/** Metrics of flow control: what each priority level has, does and refuses, under the names of kube-apiserver. */
import type { FlowControl } from '../../access/fairness/flow-control.ts';
import type { PriorityLevel } from '../../access/fairness/priority-level.ts';
import { type Exposition, labelText } from './exposition.ts';

const prefix = 'apiserver_flowcontrol_';

export function writeFlows(out: Exposition, { levels }: FlowControl): void {
  const all = [...levels];
  const family = (
    name: string,
    type: 'counter' | 'gauge',
    help: string,
    value: (level: PriorityLevel) => number,
  ): void => {
    out.family(`${prefix}${name}`, type, help);
    for (const level of all) out.sample(value(level), labelText({ priority_level: level.name }));
  };
  family('nominal_limit_seats', 'gauge', 'Seats of a level of its own.', ({ nominal }) => nominal);
  family('current_executing_requests', 'gauge', 'Requests that have a seat.', ({ underWay }) => underWay);
  family('current_inqueue_requests', 'gauge', 'Requests that wait for a seat.', ({ waiting }) => waiting);
  family(
    'dispatched_requests_total',
    'counter',
    'Requests that were given a seat.',
    ({ dispatched }) => dispatched,
  );
  out.family(`${prefix}rejected_requests_total`, 'counter', 'Requests that were refused, and why.');
  for (const { name, refused } of all)
    for (const [reason, count] of refused) out.sample(count, labelText({ priority_level: name, reason }));
}
