/** What a node or each container of a pod used, as plots, with limits: for as long as history, or until a moment of the past. */
import { moment } from '../../core/moment.ts';
import type { Json } from '../../core/objects.ts';
import { bytesText, quantity } from '../../core/quantity.ts';
import { Refusal } from '../../ui/refusal.tsx';
import { type Samples, useSamples } from '../../ui/sample-lines.ts';
import { UsagePlots } from '../../ui/usage-plots.tsx';
import type { TabProps } from '../tab.ts';

export function Tab({ kind, object }: TabProps) {
  const { namespace, name } = object.metadata;
  const samples = useSamples({ of: kind.resource, namespace, name });
  const isEmpty = !samples.items.some(({ values }) => values.some((value) => value !== null));
  if (samples.error && isEmpty) return <Refusal error={samples.error} what="There are no figures." />;
  if (isEmpty)
    return (
      <p class="waiting">
        {moment.value === undefined ? 'Waiting for the first figures…' : 'There are no samples of this time.'}
      </p>
    );
  return (
    <div class="panels">
      {kind.id === 'nodes' ? (
        <NodePlots samples={samples} allocatable={object.status?.allocatable} />
      ) : (
        <ContainerPlots samples={samples} spec={object.spec} />
      )}
    </div>
  );
}

const NodePlots = ({ samples, allocatable }: { readonly samples: Samples; readonly allocatable: Json }) => (
  <section class="panel whole">
    <h2>Use</h2>
    <div class="plots">
      <UsagePlots
        samples={samples}
        cpuNote={allocatable?.cpu ? ` of ${allocatable.cpu} cores` : ''}
        memoryNote={allocatable?.memory ? ` of ${bytesText(quantity(allocatable.memory))}` : ''}
      />
    </div>
  </section>
);

function ContainerPlots({ samples, spec }: { readonly samples: Samples; readonly spec: Json }) {
  const names = new Set(samples.items.map(({ container }) => container ?? ''));
  const containers: readonly Json[] = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  return (
    <>
      {[...names].sort().map((name) => {
        const { limits, requests } = containers.find((each) => each.name === name)?.resources ?? {};
        return (
          <section key={name} class="panel">
            <h2>{name}</h2>
            <UsagePlots
              samples={samples}
              container={name}
              cpuNote={bounds(requests?.cpu, limits?.cpu)}
              memoryNote={bounds(requests?.memory, limits?.memory)}
            />
          </section>
        );
      })}
    </>
  );
}

function bounds(request?: Json, limit?: Json): string {
  const list = [request && `asks for ${request}`, limit && `at most ${limit}`].filter(Boolean);
  return list.length ? ` (${list.join(', ')})` : '';
}
