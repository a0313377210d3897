/** Nodes with their capacity and use, as bars and, for the whole cluster, as plots. */
import { kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveObjects, useLiveTable } from '../../core/live.ts';
import type { ApiObject } from '../../core/objects.ts';
import { bytesText, coresText, quantity } from '../../core/quantity.ts';
import { may } from '../../core/rights.ts';
import { ShareBar } from '../../ui/bar.tsx';
import { Link, listPlace, ObjectLink } from '../../ui/link.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import { useSamples } from '../../ui/sample-lines.ts';
import { usageTone } from '../../ui/tone.ts';
import { UsagePlots } from '../../ui/usage-plots.tsx';
import { type NodeFigures, useNodeFigures } from './node-figures.ts';

const shownMax = 8;

export function Nodes({ isPast }: { readonly isPast: boolean }) {
  const kind = kindOf('nodes')!;
  const pods = kindOf('pods')!;
  const live = useLiveObjects(pathOf(kind));
  const hasFigures = may('list', kindOf('nodes.metrics.k8s.io'));
  const samples = useSamples({ of: 'nodes', namespace: undefined, name: undefined }, hasFigures);
  const figures = useNodeFigures(!isPast && hasFigures);
  const podCounts = usePodCounts(pathOf(pods));
  const nodes = live.items.value;
  const ready = nodes.filter(isReady).length;
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
      {samples.items.length > 0 && samples.times.length > 1 && (
        <div class="plots">
          <UsagePlots
            samples={samples}
            cpuNote={` of ${coresText(total(nodes, 'cpu'))} cores`}
            memoryNote={` of ${bytesText(total(nodes, 'memory'))}`}
          />
        </div>
      )}
      <ul class="nodes">
        {nodes.slice(0, shownMax).map((node) => (
          <NodeBars
            key={node.metadata.uid}
            node={node}
            used={figures.get(node.metadata.name)}
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
  readonly used: NodeFigures | undefined;
  readonly pods: number;
}

function NodeBars({ node, used, pods }: NodeBarsProps) {
  const { name } = node.metadata;
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
