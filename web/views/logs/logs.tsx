/** The logs of a pod: all containers together, followed, with search, columns for JSON, and download. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useKeys } from '../../core/keys.ts';
import { pathOf } from '../../core/kinds.ts';
import type { ApiObject } from '../../core/objects.ts';
import { changeQuery, place } from '../../core/router.ts';
import { adoptStyle } from '../../ui/adopted-style.ts';
import { Refusal } from '../../ui/refusal.tsx';
import type { TabProps } from '../object/tabs.ts';
import { type Container, containersOf } from '../pods/containers.ts';
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
  const { query } = place.value;
  const containers = containersOf(object);
  const only = query.get('container') ?? '';
  const chosen = containers.filter(({ name }) => !only || name === only);
  const previous = query.get('previous') === 'yes';
  const follow = !previous && query.get('follow') !== 'no';
  const tail = Number(query.get('tail')) || defaultTail;
  const path = pathOf(kind, object.metadata.namespace, object.metadata.name, 'log');
  const { buffer, errors } = useLog(path, object, chosen, { previous, follow, tail });
  const search = searchOf(query.get('find') ?? '');
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
  const withTimes = query.get('times') !== 'no';
  const found = query.get('columns') === 'no' ? [] : columnsOf(buffer.shown);
  const order = containers.map(({ name }) => name);
  return (
    <div class="logs">
      <div class="logbar">
        <select
          aria-label="Container"
          value={only}
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
          value={String(tail)}
          onChange={({ currentTarget }) =>
            changeQuery({
              tail: Number(currentTarget.value) === defaultTail ? undefined : currentTarget.value,
            })
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
          isOn={follow}
          change={(on) => changeQuery({ follow: on ? undefined : 'no', previous: undefined })}
        />
        <Choice
          label="Previous"
          isOn={previous}
          change={(on) => changeQuery({ previous: on ? 'yes' : undefined })}
        />
        <Choice
          label="Times"
          isOn={withTimes}
          change={(on) => changeQuery({ times: on ? undefined : 'no' })}
        />
        <Choice
          label="Columns"
          isOn={query.get('columns') !== 'no'}
          change={(on) => changeQuery({ columns: on ? undefined : 'no' })}
        />
        <span class="gap" />
        <input
          ref={find}
          type="search"
          class="search"
          placeholder="Search ( / )"
          aria-label="Search the log"
          value={query.get('find') ?? ''}
          onInput={({ currentTarget }) => changeQuery({ find: currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key === 'Escape' || event.key === 'Enter') event.currentTarget.blur();
          }}
        />
        <button
          type="button"
          onClick={() => void saveLog(object, path, chosen, { previous, times: withTimes }).catch(setProblem)}
        >
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
        columns={found}
        withTimes={withTimes}
        withContainers={chosen.length > 1}
        toneOf={(name) => Math.max(0, order.indexOf(name)) % tones}
        search={search}
        chosen={line}
        onChoose={setLine}
        atEnd={atEnd}
        onAtEnd={setAtEnd}
      />
      <div class="logfoot">
        <span class="quiet" role="status">
          {countText(buffer, search !== undefined)}
        </span>
        <span class="gap" />
        {!atEnd && (
          <button type="button" onClick={() => setAtEnd(true)}>
            To the end
          </button>
        )}
      </div>
      {line && <LogDetail line={line} onClose={() => setLine(undefined)} />}
    </div>
  );
}

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

interface LogWish {
  readonly previous: boolean;
  readonly follow: boolean;
  readonly tail: number;
}

/** One stream per container, opened anew when something else is asked for. */
function useLog(path: string, pod: ApiObject, containers: readonly Container[], wish: LogWish) {
  const { uid } = pod.metadata;
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
