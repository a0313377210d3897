/**
 * The logs of a pod, or of all pods of a workload: all containers together, followed, with search, columns for JSON, and
 * download.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { useKeys } from '../../core/keys.ts';
import { kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveObjects } from '../../core/live.ts';
import type { ApiObject } from '../../core/objects.ts';
import { changeQuery } from '../../core/router.ts';
import { selectorOf } from '../../core/selector.ts';
import { adoptStyle } from '../../ui/adopted-style.ts';
import { Refusal } from '../../ui/refusal.tsx';
import { containersOf } from '../pods/containers.ts';
import type { TabProps } from '../tab.ts';
import { saveLog } from './download.ts';
import type { LogBuffer } from './log-buffer.ts';
import { Choices, LogFoot, logWish, Search } from './log-choices.tsx';
import { LogDetail } from './log-detail.tsx';
import { columnsOf, type LogLine } from './log-line.ts';
import { LogList } from './log-list.tsx';
import { podsMax, sourcesOf, useLog } from './log-sources.ts';
import css from './logs.css' with { type: 'text' };

adoptStyle(css);

const tones = 6;
const notesMax = 5;

export function Tab({ kind, object }: TabProps) {
  return kind.id === 'pods' ? <Logs of={object} pods={[object]} /> : <WorkloadLogs workload={object} />;
}

function WorkloadLogs({ workload }: { readonly workload: ApiObject }) {
  const { namespace } = workload.metadata;
  const live = useLiveObjects(pathOf(kindOf('pods')!, namespace), {
    labelSelector: selectorOf(workload.spec?.selector),
  });
  if (live.error.value) return <Refusal error={live.error.value} what="Its pods cannot be found." />;
  const pods = live.items.value.toSorted((a, b) => (createdOf(a) < createdOf(b) ? 1 : -1));
  if (pods.length === 0)
    return <p class="waiting">{live.state.value === 'loading' ? 'Loading…' : 'It has no pods.'}</p>;
  return <Logs of={workload} pods={pods} isWorkload />;
}

const createdOf = ({ metadata }: ApiObject): string => `${metadata.creationTimestamp} ${metadata.name}`;

interface LogsProps {
  readonly of: ApiObject;
  /** The newest first. */
  readonly pods: readonly ApiObject[];
  readonly isWorkload?: boolean;
}

function Logs({ of: { metadata }, pods, isWorkload = false }: LogsProps) {
  const wish = logWish();
  const { follow, withTimes } = wish;
  const sources = sourcesOf(pods, wish, isWorkload);
  const { buffer, notes } = useLog(metadata.uid, sources, wish);
  const search = searchOf(wish.find);
  const [atEnd, setAtEnd] = useState(true);
  const [line, setLine] = useState<LogLine>();
  const [problem, setProblem] = useState<Error>();
  const find = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!search) return buffer.filter(undefined);
    buffer.filter(({ text }) => {
      search.lastIndex = 0;
      return search.test(text);
    });
  }, [buffer, search?.source]);
  useKeys([
    { key: '/', does: 'search the log', run: () => find.current?.focus() },
    {
      key: 'f',
      does: 'follow the log, or stop',
      run: () => changeQuery({ follow: follow ? 'no' : undefined }),
    },
    { key: 'G', does: 'go to the end of the log', run: () => setAtEnd(true) },
    { key: 't', does: 'show times', run: () => changeQuery({ times: withTimes ? 'no' : undefined }) },
  ]);
  void buffer.version.value;
  const order = sources.map(({ label }) => label);
  const save = (): void =>
    void saveLog(metadata.name, sources, { previous: wish.previous, times: withTimes }).catch(setProblem);
  return (
    <div class="logs">
      <div class="logbar">
        <Choices
          pods={isWorkload ? pods.map((pod) => pod.metadata.name) : undefined}
          containers={containersOfAll(pods)}
          wish={wish}
        />
        <span class="gap" />
        <Search field={find} text={wish.find} />
        <button type="button" onClick={save}>
          Download
        </button>
      </div>
      {problem && <Refusal error={problem} what="The log could not be downloaded." />}
      {!wish.pod && pods.length > podsMax && (
        <p class="quiet lognote">
          The logs of the newest {podsMax} of {pods.length} pods; choose one to see another.
        </p>
      )}
      {notes.slice(0, notesMax).map(({ label, text }) => (
        <p key={label} class="quiet lognote">
          {label}: {text}
        </p>
      ))}
      {notes.length > notesMax && (
        <p class="quiet lognote">and {notes.length - notesMax} more without a log</p>
      )}
      <LogList
        buffer={buffer}
        columns={wish.withColumns ? columnsOf(buffer.shown) : []}
        withTimes={withTimes}
        withContainers={isWorkload || sources.length > 1}
        toneOf={(label) => Math.max(0, order.indexOf(label)) % tones}
        search={search}
        chosen={line}
        onChoose={setLine}
        atEnd={atEnd}
        onAtEnd={setAtEnd}
      />
      <LogFoot
        text={countText(buffer, search !== undefined)}
        toEnd={atEnd ? undefined : () => setAtEnd(true)}
      />
      {line && <LogDetail line={line} onClose={() => setLine(undefined)} />}
    </div>
  );
}

/** The containers of pods, each name once. */
const containersOfAll = (pods: readonly ApiObject[]) => [
  ...new Map(pods.flatMap(containersOf).map((each) => [each.name, each])).values(),
];

function countText(buffer: LogBuffer, isSearch: boolean): string {
  const count = (n: number): string => n.toLocaleString('en');
  const lines = isSearch
    ? `${count(buffer.shown.length)} of ${count(buffer.size)} lines`
    : `${count(buffer.size)} lines`;
  return buffer.dropped ? `${lines}; ${count(buffer.dropped)} older ones are not kept` : lines;
}

/** `/…/` is a regular expression, all else is text. */
function searchOf(text: string): RegExp | undefined {
  if (!text) return undefined;
  const pattern = /^\/(.+)\/$/.exec(text)?.[1];
  try {
    return new RegExp(pattern ?? escaped(text), 'gi');
  } catch {
    return new RegExp(escaped(text), 'gi');
  }
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
