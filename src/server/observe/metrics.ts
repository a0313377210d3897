/** Metrics: all metrics of a server, collected when `/metrics` is requested. */
import type { FlowControl } from '../../access/fairness/flow-control.ts';
import type { Registry } from '../../registry/registry.ts';
import { type LimitKeeper, limitForms, limitNames } from '../http/limits.ts';
import type { Traffic } from '../http/traffic.ts';
import type { AuditLog } from './audit-log.ts';
import { Exposition, labelText } from './exposition.ts';
import { writeFlows } from './flow-metrics.ts';
import { ProcessMetrics } from './process-metrics.ts';
import type { RequestMetrics } from './request-metrics.ts';
import { type StoreMetrics, writeStoreSize } from './store-metrics.ts';
import type { WatchMetrics } from './watch-metrics.ts';

export interface Measured {
  readonly registry: Registry;
  readonly keeper: LimitKeeper;
  readonly traffic: Traffic;
  readonly requests: RequestMetrics;
  readonly watches: WatchMetrics;
  readonly store: StoreMetrics | undefined;
  readonly audit: AuditLog | undefined;
  /** The flow control of the door that has one. */
  readonly flows: FlowControl | undefined;
  /** Metrics of what the server is a part of. */
  readonly further: ((out: Exposition) => void) | undefined;
}

export class Metrics {
  readonly #process = new ProcessMetrics();

  constructor(private readonly measured: Measured) {}

  async text(): Promise<string> {
    const { registry, keeper, traffic, requests, watches, store, audit, flows, further } = this.measured;
    const out = new Exposition();
    requests.writeTo(out);
    writeTraffic(out, traffic);
    watches.writeTo(out, registry.kinds);
    store?.writeTo(out, registry.kinds);
    await writeStoreSize(registry, out);
    writeLimits(out, keeper);
    if (flows) writeFlows(out, flows);
    if (audit) writeAudit(out, audit);
    further?.(out);
    await this.#process.writeTo(out);
    return out.toString();
  }

  close(): void {
    this.#process.close();
  }
}

function writeTraffic(out: Exposition, traffic: Traffic): void {
  out.family('apiserver_current_inflight_requests', 'gauge', 'Requests under way, but for those that last.');
  for (const lane of ['readOnly', 'mutating'] as const)
    out.sample(traffic.underWay(lane), labelText({ request_kind: lane }));
  out.single('wherry_watches', 'gauge', 'Watches that are open.', traffic.underWay('watch'));
  out.single('wherry_connections', 'gauge', 'Connections to pods and nodes.', traffic.underWay('connection'));
}

/** Times are in seconds, as usual in Prometheus. */
function writeLimits(out: Exposition, keeper: LimitKeeper): void {
  const forms = limitNames.map((name) => ({ name, ...limitForms[name] }));
  out.family('wherry_limit', 'gauge', 'Bounds that are in force, by the option that sets them.');
  for (const { name, option, unit } of forms)
    out.sample(keeper.limits[name] / (unit === 'ms' ? 1000 : 1), labelText({ limit: option }));
  out.family(
    'wherry_limit_reached_total',
    'counter',
    'How often somebody was refused, cut off or warned about.',
  );
  for (const { name, option } of forms) out.sample(keeper.timesReached(name), labelText({ limit: option }));
}

function writeAudit(out: Exposition, audit: AuditLog): void {
  out.single('apiserver_audit_event_total', 'counter', 'Lines written to the audit log.', audit.events);
  out.family('apiserver_audit_error_total', 'counter', 'Lines that were lost.');
  for (const { plugin, sink } of audit.backends) out.sample(sink.dropped, labelText({ plugin }));
}
