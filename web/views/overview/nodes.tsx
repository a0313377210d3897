/** Nodes with their capacity and use, as bars and, for the whole cluster, as plots. */
import { kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveObjects, useLiveTable } from '../../core/live.ts';
import type { ApiObject } from '../../core/objects.ts';
import { bytesText, coresText, quantity } from '../../core/quantity.ts';
import { may } from '../../core/rights.ts';
import { ShareBar } from '../../ui/bar.tsx';
import { Link, listPlace, ObjectLink } from '../../ui/link.tsx';
import { Plot } from '../../ui/plot.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import { usageTone } from '../../ui/tone.ts';
import { sampleUsage, type Usage, useSamples } from './samples.ts';

const shownMax = 8;
const everyMs = 5_000;

export function Nodes({ isPast }: { readonly isPast: boolean }) {
  const kind = kindOf('nodes')!;
  const pods = kindOf('pods')!;
  const live = useLiveObjects(pathOf(kind));
  const samples = useSamples(sampleUsage, everyMs, !isPast && may('list', kindOf('nodes.metrics.k8s.io')));
  const podCounts = usePodCounts(pathOf(pods));
  const nodes = live.items.value;
  const ready = nodes.filter(isReady).length;
  const usage = samples.at(-1);
  return (
    <section class="panel whole">
      <h2>
        <Link to={listPlace(kind)}>Nodes</Link>{' '}
        {!live.error.value && (
          <span class={ready === nodes.length ? 'quiet' : 'bad'}>
            {ready} of {nodes.length} ready
          </span>
        )}
      </h2>
      {live.error.value && <Refusal error={live.error.value} what="Nodes cannot be shown." />}
      {samples.length > 1 && (
        <div class="plots">
          <Plot
            title="CPU"
            now={`${coresText(usage!.cores)} of ${coresText(total(nodes, 'cpu'))} cores`}
            series={[{ label: 'cores', colour: '--accent' }]}
            data={[samples.map(({ time }) => time), samples.map(({ cores }) => cores)]}
            format={coresText}
          />
          <Plot
            title="Memory"
            now={`${bytesText(usage!.bytes)} of ${bytesText(total(nodes, 'memory'))}`}
            series={[{ label: 'bytes', colour: '--good' }]}
            data={[samples.map(({ time }) => time), samples.map(({ bytes }) => bytes)]}
            format={bytesText}
            binary
          />
        </div>
      )}
      <ul class="nodes">
        {nodes.slice(0, shownMax).map((node) => (
          <NodeBars
            key={node.metadata.uid}
            node={node}
            usage={usage}
            pods={podCounts.get(node.metadata.name) ?? 0}
          />
        ))}
      </ul>
      {nodes.length > shownMax && (
        <p class="quiet">
          and <Link to={listPlace(kind)}>{nodes.length - shownMax} more</Link>
        </p>
      )}
    </section>
  );
}

interface NodeBarsProps {
  readonly node: ApiObject;
  readonly usage: Usage | undefined;
  readonly pods: number;
}

function NodeBars({ node, usage, pods }: NodeBarsProps) {
  const { name } = node.metadata;
  const used = usage?.nodes.get(name);
  const able = (what: string): number => quantity(node.status?.allocatable?.[what]);
  return (
    <li>
      <div class="nodename">
        <ObjectLink kind={kindOf('nodes')!} name={name} />
        {!isReady(node) && <span class="badge bad">not ready</span>}
        {node.spec?.unschedulable && <span class="badge warn">cordoned</span>}
      </div>
      {used && (
        <>
          <ShareBar
            label="CPU"
            part={used.cores}
            whole={able('cpu')}
            text={`${coresText(used.cores)} of ${coresText(able('cpu'))}`}
            tone={usageTone(used.cores, able('cpu'))}
          />
          <ShareBar
            label="Memory"
            part={used.bytes}
            whole={able('memory')}
            text={`${bytesText(used.bytes)} of ${bytesText(able('memory'))}`}
            tone={usageTone(used.bytes, able('memory'))}
          />
        </>
      )}
      <ShareBar
        label="Pods"
        part={pods}
        whole={able('pods')}
        text={`${pods} of ${able('pods') || '?'}`}
        tone={usageTone(pods, able('pods'))}
      />
    </li>
  );
}

const isReady = ({ status }: ApiObject): boolean =>
  status?.conditions?.some(
    ({ type, status: is }: { type: string; status: string }) => type === 'Ready' && is === 'True',
  ) ?? false;

const total = (nodes: readonly ApiObject[], what: string): number =>
  nodes.reduce((sum, { status }) => sum + (quantity(status?.allocatable?.[what]) || 0), 0);

/** Pods by node, from the column of the table of pods. */
function usePodCounts(path: string): ReadonlyMap<string, number> {
  const table = useLiveTable(path);
  void table.version.value;
  const at = table.columns.value.findIndex(({ name }) => name === 'Node');
  const counts = new Map<string, number>();
  if (at < 0) return counts;
  for (const { cells, mark } of table.rows.values()) {
    if (mark === 'gone') continue;
    const node = String(cells[at]);
    counts.set(node, (counts.get(node) ?? 0) + 1);
  }
  return counts;
}
