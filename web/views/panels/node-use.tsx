/** What a node can take, what its pods ask for, and what is used; and the images that it holds. */
import { useEffect, useState } from 'preact/hooks';
import { ask } from '../../core/api.ts';
import { kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveObjects } from '../../core/live.ts';
import { moment } from '../../core/moment.ts';
import type { ApiObject, Json } from '../../core/objects.ts';
import { bytesText, coresText, quantity } from '../../core/quantity.ts';
import { may, maySee } from '../../core/rights.ts';
import { ShareBar } from '../../ui/bar.tsx';
import { usageTone } from '../../ui/tone.ts';
import { requestOf } from './pod-requests.ts';

const everyMs = 5_000;
const imagesMax = 50;

const resources = [
  ['cpu', 'CPU', coresText],
  ['memory', 'Memory', bytesText],
] as const;

/** Whether a node is ready, takes pods, and is short of something: first of all, because all else follows from it. */
export function NodeState({ node: { spec, status } }: { readonly node: ApiObject }) {
  const conditions: Json[] = status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === 'Ready');
  const short = conditions.filter((each) => each.type !== 'Ready' && each.status === 'True');
  const isReady = ready?.status === 'True';
  const words = [
    ...(isReady ? [] : [ready?.message ?? 'No agent has reported.']),
    ...short.map(({ type, message }) => `${type}${message ? `: ${message}` : ''}`),
    ...(spec?.unschedulable ? ['cordoned: no new pods'] : []),
  ];
  const tone = !isReady ? 'bad' : words.length > 0 ? 'warn' : 'good';
  return (
    <section class="panel">
      <p class="podstate">
        <strong class={tone}>{isReady ? 'Ready' : 'NotReady'}</strong> {words.join('; ')}
      </p>
    </section>
  );
}

export function NodeUse({ node }: { readonly node: ApiObject }) {
  const used = useNodeFigures(node.metadata.name);
  return (
    <section class="panel container">
      <h2>Capacity</h2>
      {maySee('pods') ? <Asked node={node} used={used} /> : <Bars node={node} used={used} />}
      <Images list={node.status?.images ?? []} />
    </section>
  );
}

interface BarsProps {
  readonly node: ApiObject;
  readonly used: Json;
  readonly pods?: readonly ApiObject[];
}

function Asked(props: BarsProps) {
  const live = useLiveObjects(pathOf(kindOf('pods')!), {
    fieldSelector: `spec.nodeName=${props.node.metadata.name}`,
  });
  return <Bars {...props} pods={live.items.value} />;
}

const isOver = ({ status }: ApiObject): boolean => ['Succeeded', 'Failed'].includes(status?.phase);

function Bars({ node: { status }, used, pods }: BarsProps) {
  const active = pods?.filter((pod) => !isOver(pod));
  const able = (what: string): number =>
    quantity(status?.allocatable?.[what] ?? status?.capacity?.[what]) || 0;
  const bar = (label: string, part: number, whole: number, text: string) => (
    <ShareBar key={label} label={label} part={part} whole={whole} text={text} tone={usageTone(part, whole)} />
  );
  return (
    <>
      {resources.map(([what, title, format]) => {
        const whole = able(what);
        const asked = active?.reduce((sum, pod) => sum + requestOf(pod, what), 0);
        const use = quantity(used?.[what]);
        return (
          <div key={what}>
            <h3>
              {title}: {format(quantity(status?.capacity?.[what]) || 0)}, of which pods may use{' '}
              {format(whole)}
            </h3>
            {asked !== undefined && bar('Requested', asked, whole, `${format(asked)} of ${format(whole)}`)}
            {!Number.isNaN(use) && bar('Used', use, whole, `${format(use)} of ${format(whole)}`)}
          </div>
        );
      })}
      {active && (
        <>
          <h3>Pods: at most {able('pods')}</h3>
          {bar('Pods', active.length, able('pods'), `${active.length} of ${able('pods')}`)}
        </>
      )}
    </>
  );
}

const Images = ({ list }: { readonly list: readonly Json[] }) =>
  list.length === 0 ? null : (
    <details>
      <summary>{list.length === 1 ? '1 image' : `${list.length} images`}</summary>
      <ul class="plainlist">
        {list.slice(0, imagesMax).map(({ names = [], sizeBytes }) => (
          <li key={names[0]}>
            {names.at(-1)} <span class="quiet">{sizeBytes ? bytesText(sizeBytes) : ''}</span>
          </li>
        ))}
      </ul>
      {list.length > imagesMax && <p class="quiet">and {list.length - imagesMax} more</p>}
    </details>
  );

/** What the node uses now; undefined where there are no figures, or the user may not see them. */
function useNodeFigures(name: string): Json {
  const [usage, setUsage] = useState<Json>();
  const kind = kindOf('nodes.metrics.k8s.io');
  const isAsked = moment.value === undefined && may('list', kind);
  useEffect(() => {
    setUsage(undefined);
    if (!kind || !isAsked) return;
    const stop = new AbortController();
    const look = (): void => {
      if (document.visibilityState !== 'visible') return;
      const query = { fieldSelector: `metadata.name=${name}` };
      ask<{ items: Json[] }>(pathOf(kind), { query, signal: stop.signal }).then(
        ({ items }) => setUsage(items.find(({ metadata }) => metadata.name === name)?.usage),
        () => undefined,
      );
    };
    look();
    const timer = setInterval(look, everyMs);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [name, isAsked]);
  return usage;
}
