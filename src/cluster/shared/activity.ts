/** Activity: observes a cluster for its log. Most lines come from events; nodes that join and requests are added to them. */
import type { Event } from '../../api/generated/types.ts';
import { type ControllerContext, type Observation, observe } from '../../controllers/shared/controller.ts';
import type { Entry } from '../../registry/view/entry.ts';
import type { RequestObserver } from '../../server/chain/step.ts';
import { type LogOptions, logEvent } from './log.ts';

/** Requests that take longer are slow. Watches and connections into pods do not count. */
const slowMs = 1_000;

/** Logs what happens from now on. */
export function observeActivity(context: ControllerContext, log: LogOptions): Observation[] {
  const { view, kinds } = context.registry;
  const since = view.revision;
  const isNew = (entry: Entry | undefined): entry is Entry => entry !== undefined && entry.revision > since;
  const eventsSince = view.of(kinds.resource('v1', 'events')!).revision;
  return [
    observe(context, 'core/events', (entry) => {
      if (entry && entry.revision > eventsSince) logEvent(log, told(entry.peek() as Event));
    }),
    observe(context, 'core/nodes', (entry, previous) => {
      const { name } = (entry ?? previous)!;
      if (isNew(entry) && !previous)
        log.write({ level: 'info', message: `node ${name} joined`, fields: { node: name } });
      else if (!entry) log.write({ level: 'info', message: `node ${name} left`, fields: { node: name } });
    }),
  ];
}

function told(event: Event): Parameters<typeof logEvent>[1] {
  const { involvedObject = {}, type = '', reason = '', message = '', count, series } = event;
  const { kind = '', namespace, name = '' } = involvedObject;
  return { type, reason, message, kind, namespace, name, count: count || series?.count };
}

/** Observes requests: the slow ones, or all of them. */
export function requestObserver({ level, write }: LogOptions): RequestObserver {
  const all = level === 'debug';
  return ({ info, user, request }, code, durationMs) => {
    const slow = durationMs >= slowMs && !info.lasting;
    if (!slow && !all) return;
    const { method, verb } = info;
    const url = request.url ?? '';
    const ms = Math.round(durationMs);
    write({
      level: slow ? 'info' : 'debug',
      message: `${slow ? 'slow request' : 'request'}: ${method} ${url} ${code} ${ms} ms`,
      fields: { method, url, verb, code, ms, user: user.name, agent: request.headers['user-agent'] },
    });
  };
}
