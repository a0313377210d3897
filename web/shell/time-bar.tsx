/** The time machine: a slider over the kept history, with steps from change to change, and play. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { versionAt } from '../core/history/history.ts';
import { HistoryLog, type LogRecord } from '../core/history/history-log.ts';
import { type HistoryRange, startOf } from '../core/history/history-range.ts';
import { useKeys } from '../core/keys.ts';
import { moment, momentMs } from '../core/moment.ts';
import { changeQuery, place } from '../core/router.ts';
import { FullLink } from '../ui/link.tsx';

const playMs = 700;

export function TimeBar({ onClose }: { readonly onClose: () => void }) {
  const log = useMemo(() => new HistoryLog(), []);
  useEffect(() => () => log.close(), [log]);
  const [playing, setPlaying] = useState(false);
  const [moved, setMoved] = useState(false);
  const range = log.range.value;
  const newest = Math.max(range?.newest ?? 0, log.records.value.at(-1)?.version ?? 0);
  const oldest = range?.oldest ?? 0;
  const at = moment.value ?? newest;
  const show = (version: number): void =>
    changeQuery({ at: version >= newest ? undefined : String(Math.max(oldest, version)) });
  const isGone = range !== undefined && at < oldest;
  // The shown version is no longer in history: go to one near the oldest that will stay for a while.
  useEffect(() => {
    if (!isGone) return;
    setMoved(true);
    show(startOf(range));
  }, [isGone]);
  const step = (direction: 1 | -1): void => {
    const next = log.step(at, direction);
    if (next !== undefined) show(next);
    // While changes are still being read, the next one may arrive.
    else if (direction === 1 && !log.unread.value.size) show(newest);
  };
  useEffect(() => {
    if (!playing) return;
    const timer = setTimeout(() => {
      if (moment.value === undefined) setPlaying(false);
      else step(1);
    }, playMs);
    return () => clearTimeout(timer);
  }, [playing, at, moment.value, log.records.value, log.unread.value]);
  const play = (): void => {
    if (!playing && moment.value === undefined && range) show(startOf(range));
    setPlaying(!playing);
  };
  const leave = (): void => {
    changeQuery({ at: undefined });
    onClose();
  };
  useKeys([
    { key: '[', does: 'step back in time', run: () => step(-1) },
    { key: ']', does: 'step forward in time', run: () => step(1) },
    { key: 'p', does: 'play history, or pause', run: play },
    { key: 'n', does: 'back to now', run: leave },
  ]);
  useTimeShown(log);
  return (
    <section class="timebar" aria-label="Time machine">
      <TimeKeys playing={playing} play={play} step={step} />
      <div class="slide">
        <Density records={log.records.value} oldest={oldest} newest={newest} />
        <input
          type="range"
          aria-label="Version of the cluster"
          aria-valuetext={momentText(log, moment.value)}
          min={oldest}
          max={newest}
          value={at}
          onInput={({ currentTarget }) => {
            setPlaying(false);
            show(Number(currentTarget.value));
          }}
        />
      </div>
      <TimeChoice range={range} show={show} />
      <TimeText log={log} at={at} moved={moved} />
      <button type="button" onClick={leave}>
        Now
      </button>
    </section>
  );
}

interface TimeTextProps {
  readonly log: HistoryLog;
  /** The version that is shown. */
  readonly at: number;
  /** Whether history had rolled over the version that was asked for. */
  readonly moved: boolean;
}

/** Which time is shown, and the change that made it. */
function TimeText({ log, at, moved }: TimeTextProps) {
  const record = log.records.value.findLast(({ version }) => version <= at);
  const isPast = moment.value !== undefined;
  return (
    <div class="timetext" role="status">
      <strong>{momentText(log, moment.value)}</strong>
      {isPast && <span class="quiet"> version {at}</span>}
      {moved && isPast && (
        <div class="quiet">History begins here: what came before is not kept any more.</div>
      )}
      <div class="lastchange">{record && isPast && <LastChange record={record} />}</div>
    </div>
  );
}

/** History that is longer than this is chosen by date and time, too. */
const longMs = 3_600_000;

interface TimeChoiceProps {
  readonly range: HistoryRange | undefined;
  readonly show: (version: number) => void;
}

/** A date and a time, in the zone of the browser; the server says which version was the newest then. */
function TimeChoice({ range, show }: TimeChoiceProps) {
  const [refused, setRefused] = useState<string>();
  const { oldestMs, nowMs } = range ?? {};
  if (oldestMs === undefined || nowMs === undefined || nowMs - oldestMs <= longMs) return null;
  const choose = (text: string): void => {
    const timeMs = Date.parse(text);
    if (Number.isNaN(timeMs)) return;
    setRefused(undefined);
    versionAt(timeMs)
      .then(show)
      .catch((error: Error) => setRefused(error.message));
  };
  return (
    <label class="timechoice">
      <span class="quiet">Date and time</span>
      <input
        type="datetime-local"
        step={1}
        min={localText(oldestMs)}
        max={localText(nowMs)}
        value={localText(momentMs.value ?? nowMs)}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
      />
      {refused && <span role="alert">{refused}</span>}
    </label>
  );
}

/** As fields for date and time take it: without a zone. */
function localText(timeMs: number): string {
  const offsetMs = new Date(timeMs).getTimezoneOffset() * 60_000;
  return new Date(timeMs - offsetMs).toISOString().slice(0, 19);
}

/** Sets the time of the version that is shown, for the views that compare times with it. */
function useTimeShown(log: HistoryLog): void {
  const timeMs = moment.value === undefined ? undefined : log.timeOf(moment.value);
  useEffect(() => {
    momentMs.value = timeMs;
  }, [timeMs]);
}

interface TimeKeysProps {
  readonly playing: boolean;
  readonly play: () => void;
  readonly step: (direction: 1 | -1) => void;
}

const TimeKeys = ({ playing, play, step }: TimeKeysProps) => (
  <div class="timekeys">
    <button type="button" aria-label="Step back" title="Key [" onClick={() => step(-1)}>
      ◀
    </button>
    <button type="button" class="main" title="Key p" onClick={play}>
      {playing ? 'Pause' : 'Play'}
    </button>
    <button type="button" aria-label="Step forward" title="Key ]" onClick={() => step(1)}>
      ▶
    </button>
  </div>
);

function LastChange({ record }: { readonly record: LogRecord }) {
  const verb = { ADDED: 'created', MODIFIED: 'changed', DELETED: 'deleted' }[record.type];
  return (
    <>
      {record.kind.kind}{' '}
      <FullLink
        kind={record.kind}
        within={place.value.query.get('ns') ?? undefined}
        namespace={record.namespace}
        name={record.name}
      />{' '}
      {verb}
      {record.writer && <span class="quiet"> by {record.writer}</span>}
    </>
  );
}

function momentText(log: HistoryLog, at: number | undefined): string {
  if (at === undefined) return 'Now';
  const timeMs = log.timeOf(at);
  if (timeMs === undefined) return `Version ${at}`;
  const time = new Date(timeMs);
  const isToday = time.toDateString() === new Date().toDateString();
  return isToday ? time.toLocaleTimeString() : time.toLocaleString();
}

const binCount = 120;

/** How much happened when, behind the slider. */
function Density({
  records,
  oldest,
  newest,
}: {
  readonly records: readonly LogRecord[];
  readonly oldest: number;
  readonly newest: number;
}) {
  const bins = useMemo(() => {
    const counts = new Array<number>(binCount).fill(0);
    const span = Math.max(1, newest - oldest);
    for (const { version } of records) {
      const bin = Math.floor(((version - oldest) / span) * (binCount - 1));
      if (bin >= 0 && bin < binCount) counts[bin]!++;
    }
    return counts;
  }, [records, oldest, newest]);
  const most = Math.max(1, ...bins);
  const bars = bins
    .map((count, i) => (count ? `M${i} 20h1v${-Math.max(2, (18 * count) / most)}h-1z` : ''))
    .join('');
  return (
    <svg class="density" viewBox={`0 0 ${binCount} 20`} preserveAspectRatio="none" aria-hidden="true">
      <path d={bars} />
    </svg>
  );
}
