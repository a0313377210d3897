/** What happened in a namespace, as lanes per object, zoomable. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { findRange, readHistory } from '../../core/history/history.ts';
import type { HistoryGap } from '../../core/history/history-range.ts';
import { type Kind, kindOf, pathOf } from '../../core/kinds.ts';
import { maySee } from '../../core/rights.ts';
import { changeQuery, place } from '../../core/router.ts';
import { now } from '../../ui/age.tsx';
import { pluralOf } from '../../ui/kind-name.ts';
import { FullLink } from '../../ui/link.tsx';
import { type Lane, Lanes, type Mark, spansOf } from './lanes.ts';

const ids = [
  'deployments.apps',
  'statefulsets.apps',
  'daemonsets.apps',
  'replicasets.apps',
  'cronjobs.batch',
  'jobs.batch',
  'pods',
  'services',
  'persistentvolumeclaims',
  'configmaps',
];
const shownMax = 150;
const newsMax = 40;
const drawMs = 300;

interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Gaps that are shown, the latest first. */
const gapsMax = 5;

/** Times in which nothing was seen of a cluster that is recorded: what lanes show there is not known. */
function Gaps() {
  const [gaps, setGaps] = useState<readonly HistoryGap[]>([]);
  useEffect(() => {
    findRange()
      .then((range) => setGaps(range.gaps ?? []))
      // That a server does not answer is shown elsewhere.
      .catch(() => undefined);
  }, []);
  const text = (time: string | undefined): string => (time ? new Date(time).toLocaleString() : 'now');
  return gaps
    .slice(-gapsMax)
    .reverse()
    .map(({ from, to, why, resources }) => (
      <p key={from} class="gapinhistory">
        <strong>
          Gap from {text(from)} to {text(to)}:
        </strong>{' '}
        nothing was seen of {resources?.join(', ') ?? 'the cluster'} ({why}).
      </p>
    ));
}

export function View() {
  const namespace = place.value.query.get('ns') ?? undefined;
  const lanes = useLanes(namespace);
  const [chosen, setChosen] = useState<{ lane: Lane; mark: Mark }>();
  const list = [...lanes.byUid.values()]
    .filter(({ marks }) => marks.length > 0)
    .sort(byKindAndStart)
    .slice(-shownMax);
  const whole = wholeOf(list, now.value);
  const { query } = place.value;
  const view: Window = {
    fromMs: Number(query.get('from')) || whole.fromMs,
    toMs: Number(query.get('to')) || whole.toMs,
  };
  const zoom = (factor: number, around = 0.5): void => {
    const span = (view.toMs - view.fromMs) * factor;
    const middle = view.fromMs + (view.toMs - view.fromMs) * around;
    const fromMs = Math.max(whole.fromMs, Math.round(middle - span * around));
    const toMs = Math.min(whole.toMs, Math.round(fromMs + Math.max(1_000, span)));
    const isWhole = fromMs <= whole.fromMs && toMs >= whole.toMs;
    changeQuery({ from: isWhole ? undefined : String(fromMs), to: isWhole ? undefined : String(toMs) });
  };
  const shift = (part: number): void => {
    const step = (view.toMs - view.fromMs) * part;
    changeQuery({ from: String(Math.round(view.fromMs + step)), to: String(Math.round(view.toMs + step)) });
  };
  return (
    <>
      <div class="titleline">
        <h1>Timeline</h1>
        <span class="quiet">
          {namespace ? `of the namespace ${namespace}` : 'of all namespaces; choose one above'}
        </span>
        <span class="gap" />
        <span class="actions">
          <button type="button" aria-label="Earlier" onClick={() => shift(-0.25)}>
            ←
          </button>
          <button type="button" aria-label="Later" onClick={() => shift(0.25)}>
            →
          </button>
          <button type="button" aria-label="Zoom in" onClick={() => zoom(0.5)}>
            +
          </button>
          <button type="button" aria-label="Zoom out" onClick={() => zoom(2)}>
            −
          </button>
          <button type="button" onClick={() => changeQuery({ from: undefined, to: undefined })}>
            All
          </button>
        </span>
      </div>
      <Gaps />
      {list.length === 0 && (
        <p class="waiting">
          {lanes.unread.size > 0 ? 'Reading history…' : 'Nothing has happened here that is kept.'}
        </p>
      )}
      {list.length > 0 && lanes.unread.size > 0 && (
        <p class="quiet reading" role="status">
          Still reading {[...lanes.unread].map(pluralOf).join(', ')}: their lanes end where reading is, and
          objects may be gone by now.
        </p>
      )}
      {list.length > 0 && (
        <Chart
          lanes={list}
          knownUntil={(lane) => lanes.knownUntil(lane)}
          view={view}
          zoom={zoom}
          onChoose={(lane, mark) => setChosen({ lane, mark })}
        />
      )}
      {chosen && <Chosen {...chosen} />}
      <News lanes={list} view={view} onChoose={(lane, mark) => setChosen({ lane, mark })} />
    </>
  );
}

function byKindAndStart(a: Lane, b: Lane): number {
  const order = ids.indexOf(a.kind.id) - ids.indexOf(b.kind.id);
  return order || a.marks[0]!.timeMs - b.marks[0]!.timeMs;
}

function wholeOf(lanes: readonly Lane[], nowMs: number): Window {
  const fromMs = Math.min(...lanes.map(({ marks }) => marks[0]!.timeMs), nowMs - 10_000);
  return { fromMs: fromMs - 1_000, toMs: nowMs + 1_000 };
}

/** Reads history of all kinds of the lanes; draws at most a few times a second. */
function useLanes(namespace: string | undefined): Lanes {
  const [, draw] = useState(0);
  const lanes = useMemo(() => new Lanes(), [namespace]);
  useEffect(() => {
    const stop = new AbortController();
    let scheduled = false;
    const changed = (): void => {
      if (scheduled) return;
      scheduled = true;
      setTimeout(() => {
        scheduled = false;
        if (!stop.signal.aborted) draw((n) => n + 1);
      }, drawMs);
    };
    const read = (
      kind: Kind,
      take: (lanes: Lanes, change: Parameters<Lanes['takeEvent']>[0]) => void,
    ): Promise<void> =>
      readHistory(
        pathOf(kind, namespace),
        { signal: stop.signal },
        {
          reset: () => lanes.clear(kind),
          changes: (changes) => {
            for (const change of changes) take(lanes, change);
            changed();
          },
          caughtUp: () => {
            lanes.caughtUp(kind);
            changed();
            // Read events last, so that the objects they name exist.
            if (lanes.unread.size === 0 && events && !readsEvents) {
              readsEvents = true;
              void read(events, (to, change) => to.takeEvent(change));
            }
          },
          refused: () => lanes.caughtUp(kind),
        },
      );
    const events = maySee('events', namespace) ? kindOf('events') : undefined;
    let readsEvents = false;
    const shown = ids.filter((id) => maySee(id, namespace)).map((id) => kindOf(id)!);
    for (const kind of shown) lanes.clear(kind);
    for (const kind of shown) void read(kind, (to, change) => to.take(kind, change));
    return () => stop.abort();
  }, [lanes]);
  return lanes;
}

interface ChartProps {
  readonly lanes: readonly Lane[];
  /** See `Lanes.knownUntil`. */
  readonly knownUntil: (lane: Lane) => number | undefined;
  readonly view: Window;
  readonly zoom: (factor: number, around: number) => void;
  readonly onChoose: (lane: Lane, mark: Mark) => void;
}

function Chart({ lanes, knownUntil, view, zoom, onChoose }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const turn = useRef(zoom);
  turn.current = zoom;
  useEffect(() => {
    const element = box.current!;
    const onWheel = (event: WheelEvent): void => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const track = element.querySelector('.track')!.getBoundingClientRect();
      turn.current(
        event.deltaY > 0 ? 1.25 : 0.8,
        Math.min(1, Math.max(0, (event.clientX - track.left) / track.width)),
      );
    };
    // Not passive: it replaces the browser's own zoom.
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => element.removeEventListener('wheel', onWheel);
  }, []);
  const span = view.toMs - view.fromMs;
  const place = (ms: number): number => ((ms - view.fromMs) / span) * 100;
  return (
    <div class="lanes" ref={box} tabIndex={0} role="region" aria-label="Lanes">
      <div class="lane axis">
        <span />
        <div class="track">
          {ticksOf(view).map((ms) => (
            <span key={ms} class={place(ms) > 70 ? 'tick late' : 'tick'} style={{ left: `${place(ms)}%` }}>
              {place(ms) < lastLabelPercent && new Date(ms).toLocaleTimeString()}
            </span>
          ))}
        </div>
      </div>
      {lanes.map((lane) => (
        <LaneRow
          key={lane.uid}
          {...{ lane, place, onChoose }}
          untilMs={Math.min(knownUntil(lane) ?? now.value, view.toMs)}
        />
      ))}
    </div>
  );
}

interface LaneRowProps extends Pick<ChartProps, 'onChoose'> {
  readonly lane: Lane;
  /** How long its state is known. */
  readonly untilMs: number;
  /** Where a time is, in percent of the view. */
  readonly place: (ms: number) => number;
}

const LaneRow = ({ lane, untilMs, place, onChoose }: LaneRowProps) => (
  <div class="lane">
    <span
      class="lanename"
      title={`${lane.kind.kind} ${[lane.namespace, lane.name].filter(Boolean).join('/')}`}
    >
      <span class="quiet" data-short={lane.kind.shortNames[0] ?? lane.kind.singular}>
        {lane.kind.kind}
      </span>{' '}
      <LaneLink lane={lane} tab="history" />
    </span>
    <div class="track">
      {spansOf(lane, untilMs).map(({ fromMs, toMs, tone }) => {
        const left = Math.max(0, place(fromMs));
        const width = Math.min(100, place(toMs)) - left;
        return (
          width > 0 && (
            <span key={fromMs} class={`span ${tone}`} style={{ left: `${left}%`, width: `${width}%` }} />
          )
        );
      })}
      {lane.marks.map((mark) => {
        const left = place(mark.timeMs);
        if (left < 0 || left > 100) return null;
        return (
          <button
            key={`${mark.version} ${mark.what}`}
            type="button"
            tabIndex={-1}
            class={`mark ${mark.tone} ${mark.isEvent ? 'event' : ''}`}
            style={{ left: `${left}%` }}
            title={`${new Date(mark.timeMs).toLocaleTimeString()} ${mark.what}`}
            aria-label={mark.what}
            onClick={() => onChoose(lane, mark)}
          />
        );
      })}
    </div>
  </div>
);

/** Behind this a label would be cut off at its end. */
const lastLabelPercent = 89;
const tickSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400].map(
  (s) => s * 1000,
);

function ticksOf({ fromMs, toMs }: Window): number[] {
  const step = tickSteps.find((ms) => (toMs - fromMs) / ms <= 7) ?? tickSteps.at(-1)!;
  const ticks: number[] = [];
  for (let ms = Math.ceil(fromMs / step) * step; ms < toMs; ms += step) ticks.push(ms);
  return ticks;
}

const LaneLink = ({
  lane: { kind, namespace, name },
  tab,
}: {
  readonly lane: Lane;
  readonly tab?: string;
}) => (
  <FullLink
    kind={kind}
    within={place.value.query.get('ns') ?? undefined}
    namespace={namespace}
    name={name}
    {...(tab ? { tab } : {})}
  />
);

function Chosen({ lane, mark }: { readonly lane: Lane; readonly mark: Mark }) {
  return (
    <p class="panel chosen" role="status">
      <strong>{new Date(mark.timeMs).toLocaleTimeString()}</strong> {lane.kind.kind} <LaneLink lane={lane} />{' '}
      {mark.what}{' '}
      <button type="button" onClick={() => changeQuery({ at: String(mark.version) }, true)}>
        Show the cluster then
      </button>
    </p>
  );
}

/** The latest marks of the time that is shown, as text, for those who cannot see the lanes or do not use a mouse. */
function News({ lanes, view, onChoose }: Pick<ChartProps, 'lanes' | 'view' | 'onChoose'>) {
  const news = lanes
    .flatMap((lane) => lane.marks.map((mark) => ({ lane, mark })))
    .filter(({ mark: { timeMs } }) => timeMs >= view.fromMs && timeMs <= view.toMs)
    .sort((a, b) => b.mark.timeMs - a.mark.timeMs)
    .slice(0, newsMax);
  if (news.length === 0) return null;
  return (
    <section class="panel news">
      <h2>Latest</h2>
      <table class="simple events">
        <tbody>
          {news.map(({ lane, mark }) => (
            <tr key={`${lane.uid} ${mark.version} ${mark.what}`}>
              <td class="quiet">{new Date(mark.timeMs).toLocaleTimeString()}</td>
              <td>
                <span class="quiet">{lane.kind.kind}</span> <LaneLink lane={lane} />
              </td>
              <td>
                <button type="button" class={`plain ${mark.tone}`} onClick={() => onChoose(lane, mark)}>
                  {mark.what}
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
