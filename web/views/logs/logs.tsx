/** The logs of a pod: all containers together, followed, with search, columns for JSON, and download. */
import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useKeys } from '../../core/keys.ts';
import { pathOf } from '../../core/kinds.ts';
import type { ApiObject } from '../../core/objects.ts';
import { changeQuery, place } from '../../core/router.ts';
import { adoptStyle } from '../../ui/adopted-style.ts';
import { Refusal } from '../../ui/refusal.tsx';
import { type Container, containersOf } from '../pods/containers.ts';
import type { TabProps } from '../tab.ts';
import { saveLog } from './download.ts';
import { LogBuffer } from './log-buffer.ts';
import { LogDetail } from './log-detail.tsx';
import { columnsOf, type LogLine } from './log-line.ts';
import { LogList } from './log-list.tsx';
import { LogStream } from './log-stream.ts';
import css from './logs.css' with { type: 'text' };

adoptStyle(css);

const tails = [1_000, 10_000, 100_000];
const defaultTail = 10_000;
const tones = 6;

export function Tab({ kind, object }: TabProps) {
  const containers = containersOf(object);
  const wish = logWish();
  const { follow, withTimes } = wish;
  const chosen = containers.filter(({ name }) => !wish.container || name === wish.container);
  const path = pathOf(kind, object.metadata.namespace, object.metadata.name, 'log');
  const { buffer, errors } = useLog(path, object, chosen, wish);
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
  const order = containers.map(({ name }) => name);
  const save = (): void =>
    void saveLog(object, path, chosen, { previous: wish.previous, times: withTimes }).catch(setProblem);
  return (
    <div class="logs">
      <div class="logbar">
        <Choices containers={containers} wish={wish} />
        <span class="gap" />
        <Search field={find} text={wish.find} />
        <button type="button" onClick={save}>
          Download
        </button>
      </div>
      {problem && <Refusal error={problem} what="The log could not be downloaded." />}
      {[...errors].map(([name, error]) => (
        <p key={name} class="quiet lognote">
          {name}: {error.message}
        </p>
      ))}
      <LogList
        buffer={buffer}
        columns={wish.withColumns ? columnsOf(buffer.shown) : []}
        withTimes={withTimes}
        withContainers={chosen.length > 1}
        toneOf={(name) => Math.max(0, order.indexOf(name)) % tones}
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

/** What the address says is to be shown. */
interface LogWish {
  /** The container; '' for all. */
  readonly container: string;
  readonly previous: boolean;
  readonly follow: boolean;
  readonly tail: number;
  readonly withTimes: boolean;
  readonly withColumns: boolean;
  readonly find: string;
}

function logWish(): LogWish {
  const { query } = place.value;
  const previous = query.get('previous') === 'yes';
  return {
    container: query.get('container') ?? '',
    previous,
    follow: !previous && query.get('follow') !== 'no',
    tail: Number(query.get('tail')) || defaultTail,
    withTimes: query.get('times') !== 'no',
    withColumns: query.get('columns') !== 'no',
    find: query.get('find') ?? '',
  };
}

interface ChoicesProps {
  readonly containers: readonly Container[];
  readonly wish: LogWish;
}

const Choices = ({ containers, wish }: ChoicesProps) => (
  <>
    <select
      aria-label="Container"
      value={wish.container}
      onChange={({ currentTarget }) => changeQuery({ container: currentTarget.value })}
    >
      <option value="">All containers</option>
      {containers.map(({ name, type }) => (
        <option key={name} value={name}>
          {name}
          {type === 'main' ? '' : ` (${type})`}
        </option>
      ))}
    </select>
    <select
      aria-label="Lines"
      value={String(wish.tail)}
      onChange={({ currentTarget: { value } }) =>
        changeQuery({ tail: Number(value) === defaultTail ? undefined : value })
      }
    >
      {tails.map((count) => (
        <option key={count} value={count}>
          last {count.toLocaleString('en')}
        </option>
      ))}
    </select>
    <Choice
      label="Follow"
      isOn={wish.follow}
      change={(on) => changeQuery({ follow: on ? undefined : 'no', previous: undefined })}
    />
    <Choice
      label="Previous"
      isOn={wish.previous}
      change={(on) => changeQuery({ previous: on ? 'yes' : undefined })}
    />
    <Choice
      label="Times"
      isOn={wish.withTimes}
      change={(on) => changeQuery({ times: on ? undefined : 'no' })}
    />
    <Choice
      label="Columns"
      isOn={wish.withColumns}
      change={(on) => changeQuery({ columns: on ? undefined : 'no' })}
    />
  </>
);

const Search = ({
  field,
  text,
}: {
  readonly field: RefObject<HTMLInputElement | null>;
  readonly text: string;
}) => (
  <input
    ref={field}
    type="search"
    class="search"
    placeholder="Search ( / )"
    aria-label="Search the log"
    value={text}
    onInput={({ currentTarget }) => changeQuery({ find: currentTarget.value })}
    onKeyDown={(event) => {
      if (event.key === 'Escape' || event.key === 'Enter') event.currentTarget.blur();
    }}
  />
);

interface LogFootProps {
  readonly text: string;
  /** Undefined when the end is shown. */
  readonly toEnd: (() => void) | undefined;
}

const LogFoot = ({ text, toEnd }: LogFootProps) => (
  <div class="logfoot">
    <span class="quiet" role="status">
      {text}
    </span>
    <span class="gap" />
    {toEnd && (
      <button type="button" onClick={toEnd}>
        To the end
      </button>
    )}
  </div>
);

interface ChoiceProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly change: (on: boolean) => void;
}

const Choice = ({ label, isOn, change }: ChoiceProps) => (
  <label class="choice">
    <input type="checkbox" checked={isOn} onChange={({ currentTarget }) => change(currentTarget.checked)} />
    {label}
  </label>
);

function countText(buffer: LogBuffer, isSearch: boolean): string {
  const count = (n: number): string => n.toLocaleString('en');
  const lines = isSearch
    ? `${count(buffer.shown.length)} of ${count(buffer.size)} lines`
    : `${count(buffer.size)} lines`;
  return buffer.dropped ? `${lines}; ${count(buffer.dropped)} older ones are not kept` : lines;
}

/** One stream per container, opened anew when something else is asked for. */
function useLog(
  path: string,
  pod: ApiObject,
  containers: readonly Container[],
  { previous, follow, tail }: LogWish,
) {
  const { uid } = pod.metadata;
  const wish = { previous, follow, tail };
  const names = containers.map(({ name }) => name);
  const asked = JSON.stringify([uid, names, wish]);
  const [errors, setErrors] = useState<ReadonlyMap<string, Error>>(new Map());
  const buffer = useMemo(() => new LogBuffer(), [asked]);
  const streams = useRef<ReadonlyMap<string, LogStream>>(new Map());
  useEffect(() => {
    setErrors(new Map());
    const sink = {
      lines: buffer.add.bind(buffer),
      state: (name: string, error: Error | undefined) =>
        setErrors((before) => {
          const next = new Map(before);
          if (error) next.set(name, error);
          else next.delete(name);
          return next;
        }),
    };
    const opened = new Map(
      names.map((container) => [container, new LogStream({ path, container, ...wish }, sink)]),
    );
    streams.current = opened;
    return () => {
      for (const stream of opened.values()) stream.close();
    };
  }, [asked]);
  useEffect(() => {
    for (const { name, signature } of containers) streams.current.get(name)?.changed(signature);
  });
  return { buffer, errors };
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
